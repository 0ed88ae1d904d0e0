#include "host/operators/run_command.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "command/line.h"
#include "host/env/job_files.h"
#include "host/operators/operator.h"
#include "host/operators/planning.h"
#include "job/launch/launchers.h"
#include "os/supervise/spawn.h"

namespace muster::operators {
namespace {

constexpr int exit_failure = 1;

struct RunOptions {
  Wish wish;
  int report_fd = -1;
};

std::variant<RunOptions, command::Stop> run_options(const Args& args) {
  const command::Page& page = command::page_of("toolkit run");
  command::Line line(page);
  RunOptions options;
  options.wish.own_environment = true;
  std::optional<std::string> runner, report;
  std::vector<std::string> pairs;
  line.text("--runner", runner);
  line.texts("--option", pairs);
  line.text("--python", options.wish.python);
  line.text("--report", report);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  if (runner) {
    const Result<launch::Runner> known = launch::runner_named(*runner);
    if (!known) return command::wrong_line(page, "--runner is " + known.error().text);
    options.wish.runner = *known;
  }
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return command::wrong_line(page, "--option requires NAME=VALUE, got \"" + pair + "\"");
    options.wish.options[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (report) {
    const std::optional<std::int64_t> fd = parse_integer(*report);
    if (!fd || *fd < 3 || *fd > 65535)
      return command::wrong_line(page, "--report: expected the number of an open file descriptor");
    options.report_fd = static_cast<int>(*fd);
  }
  options.wish.entry_point = line.rest().front();
  options.wish.args.assign(line.rest().begin() + 1, line.rest().end());
  return options;
}

void tell(int fd, const Json& report) {
  if (fd >= 0) static_cast<void>(write_all(fd, to_text(report)));
}

Json report_of(const job::Verdict& verdict) {
  Json info = nullptr;
  const job::Outcome& outcome = verdict.outcome;
  const int code =
      outcome.kind == job::Outcome::Kind::signaled ? -outcome.number : job::exit_code(outcome);
  std::string output = verdict.success() ? "" : job::describe(verdict);
  if (!verdict.last_lines.empty()) output += "\n" + verdict.last_lines;
  return {{"return_code", code},
          {"output", to_utf8(output)},
          {"command", to_utf8(verdict.command)},
          {"info", std::move(info)}};
}

/// Becomes the program. Returns only if that fails.
Error become(const launch::HostPlan& plan, const Env& env) {
  Command command = plan.rank;
  // Operators inside the program talk to the same `train`.
  for (const char* name : {"MUSTER_SOCKET", "MUSTER_TRAINING_LOG"})
    if (const auto found = env.find(name); found != env.end()) command.env.insert(*found);
  return supervise::replace_self(command);
}

Result<job::Verdict> run(const RunOptions& options, const Env& env, const Log& log) {
  const job::Training training = TRY(env::read_training(env));
  const launch::HostPlan plan = TRY(plan_host(training, env, options.wish));
  if (plan.launcher == launch::Launcher::process) return become(plan, env);
  const std::string& entry = options.wish.entry_point;
  const launch::CallResult result = TRY(make_call(
      training,
      launch::call_from(plan, launch::launcher_name(plan) + " " + entry, "entry point " + entry),
      env, log));
  return result.verdict;
}

}  // namespace

int run_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm toolkit", Log::Level::info);
  const std::variant<RunOptions, command::Stop> line = run_options(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line))
    return command::tell(*stop, log);
  const RunOptions& options = std::get<RunOptions>(line);
  const Result<job::Verdict> verdict = run(options, env, log);
  if (!verdict) {
    log.error(verdict.error().text);
    tell(options.report_fd, {{"error", to_utf8(verdict.error().text)}});
    return exit_failure;
  }
  if (!verdict->success()) log.error(job::describe(*verdict));
  tell(options.report_fd, report_of(*verdict));
  return job::exit_code(verdict->outcome);
}

}  // namespace muster::operators
