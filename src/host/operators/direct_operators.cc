#include <unistd.h>

#include <deque>
#include <optional>
#include <variant>

#include "base/fd.h"
#include "base/fields.h"
#include "base/terminal.h"
#include "base/text.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "host/env/options.h"
#include "host/env/place.h"
#include "host/operators/operator.h"
#include "host/operators/operator_commands.h"
#include "host/operators/planning.h"
#include "host/operators/training_log.h"
#include "job/launch/launchers.h"
#include "job/limits.h"

namespace muster::operators {
namespace {

/// An operator's command line, with the parts that muster itself uses.
struct Operate {
  std::string name;  ///< "tf multi-worker"
  Args args;         ///< After the name.
  bool print_plan = false;
  launch::OperatorLine line;
};

/// The program of a line, to be started unchanged in the operator's working folder.
Result<Command> command_of(const command::Line& line, const Env& env) {
  Command command;
  command.argv = line.rest();
  command.env = env::user_environment(env);
  command.env.try_emplace("PYTHONUNBUFFERED",
                          "1");  // Otherwise a killed program's buffered output is lost.
  command.cwd = TRY(working_folder());
  return command;
}

/// Holds the value of one of a page's flags while the command line is parsed.
struct Value {
  explicit Value(const command::Flag& its) : flag(its) {}
  const command::Flag& flag;
  bool given = false;               ///< For a flag without a value.
  int number = 0;                   ///< For a value named N in the page; 0: not set.
  std::optional<std::string> text;  ///< For all other values.
};

void bind(command::Line& line, Value& value) {
  if (!value.flag.takes_value())
    line.flag(value.flag.name, value.given);
  else if (value.flag.value == "N")
    line.number(value.flag.name, value.number, 1, job::ranks_max);
  else
    line.text(value.flag.name, value.text);
}

Result<void> check_choice(const Value& value) {
  const std::vector<std::string> choices = split_words(std::string(value.flag.choices));
  if (!value.text || choices.empty()) return {};
  for (const std::string& choice : choices)
    if (*value.text == choice) return {};
  return expected(std::string(value.flag.name),
                  join(choices, " or ") + ", got \"" + to_utf8(*value.text) + "\"");
}

/// Copies the given values into the operator's flags. Error: `invalid_input`: a value is not one of
/// the flag's choices.
Result<void> set_flag(const Value& value, Operate& operate) {
  TRY(check_choice(value));
  const std::string name(value.flag.name);
  if (name == "--print-plan")
    operate.print_plan = value.given;
  else if (value.given)
    operate.line.flags[name] = "";
  else if (value.number != 0)
    operate.line.flags[name] = std::to_string(value.number);
  else if (value.text)
    operate.line.flags[name] = *value.text;
  return {};
}

Result<void> fill(const std::deque<Value>& values, const command::Line& line, const Env& env,
                  Operate& operate) {
  for (const Value& value : values) TRY(set_flag(value, operate));
  operate.line.python = python_for(env);
  operate.line.sm = TRY(rank_program());
  operate.line.command = TRY(command_of(line, env));
  return {};
}

int run_direct(const Operate& operate, const launch::LauncherRow& launcher,
               const launch::Operation& operation, const Env& env) {
  const std::string shown = name_of_line("sm " + operate.name, operate.args);
  const std::string digest = digest_of_line(operate.args);
  const auto call = [&](const job::Training& training,
                        const Log& log) -> Result<launch::CallResult> {
    const int ports = operation.ports(training.hosts, training.current_host);
    const launch::Site site = TRY(exchange_sites(training, shown, digest, ports, env, log));
    launch::HostPlan plan = TRY(operation.plan(site));
    plan.hosts = training.hosts;
    if (operate.print_plan && !say(STDOUT_FILENO, launch::plan_text(plan)))
      return fail(Errc::closed, "standard output is closed");
    if (operate.print_plan) return launch::CallResult{};
    if (!operation.direct) TRY(check_needs(launcher, operate.line.python, operate.line.command));
    TRY(TrainingLog::of_operator(training, env)).launch(plan);
    return make_call(training, launch::call_from(plan, shown, digest), env, log);
  };
  return run_operator(operate.name, operate.args, env, call);
}

int fail_usage(const std::string& name, const Error& error) {
  log_of(name).error(error.text);
  return command::exit_usage;
}

bool is_host_flag(const command::Flag& flag) {
  for (const command::Flag& each : command::host_flags())
    if (each.name == flag.name) return true;
  return false;
}

int run_page(const command::Page& page, const Args& args, const Env& own_env) {
  Operate operate{std::string(page.name), {}, false, {}};
  const launch::OperatorRow row = launch::operator_named(page.name);
  CHECK_THAT(row.found != nullptr, "an operator's page has a row among the launchers");
  command::Line line(page);
  std::deque<Value> values;  // A deque keeps their addresses valid.
  for (const command::Flag& flag : page.flags)
    if (!is_host_flag(flag)) bind(line, values.emplace_back(flag));
  env::HostFlags hosts;
  hosts.bind(line);
  if (const std::optional<command::Stop> stop = line.parse(args))
    return tell(*stop, log_of(operate.name));
  const Result<Env> placed = env::placed(own_env, hosts);
  if (!placed) return fail_usage(operate.name, placed.error());
  const Env& env = *placed;
  operate.args = line.without(command::host_flags());
  const Result<void> filled = fill(values, line, env, operate);
  if (!filled) return fail_usage(operate.name, filled.error());
  const Result<launch::Operation> operation = row.found->read(operate.line);
  if (!operation) return fail_usage(operate.name, operation.error());
  return run_direct(operate, *row.launcher, *operation, env);
}

}  // namespace

bool is_operator(const std::string& word) {
  for (const launch::LauncherRow& row : launch::launchers())
    for (const launch::Operator& each : row.operators)
      if (each.name.substr(0, each.name.find(' ')) == word) return true;
  return false;
}

int operator_main(const std::string& word, const Args& args, const Env& env) {
  if (command::pages_below(word).empty()) return run_page(command::page_of(word), args, env);
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below(word, args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below))
    return tell(*stop, log_of(word));
  return run_page(*std::get<const command::Page*>(below), {args.begin() + 1, args.end()}, env);
}

}  // namespace muster::operators
