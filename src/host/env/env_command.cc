#include "host/env/env_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/log.h"
#include "base/terminal.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "host/env/env_client.h"
#include "host/env/job_files.h"
#include "job/training/invocation.h"
#include "job/training/python_json.h"
#include "job/training/training.h"

namespace muster::env {
namespace {

using command::exit_failed;

/// Far more than the size of a real job's three files.
constexpr std::size_t stdin_bytes_max = 64u << 20;

int print(const std::string& text) {
  return say(STDOUT_FILENO, text) ? 0 : exit_failed;
}

Result<std::string> read_stdin() {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Errc::system, errno_text("cannot read standard input"));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > stdin_bytes_max)
      return fail(Errc::invalid_input, "standard input exceeds the limit of 64 MiB");
  }
}

Result<job::Training> training_of(const Env& env, bool from_stdin) {
  if (!from_stdin) return read_training(env);
  const std::string text = TRY(read_stdin());
  const Result<job::GivenConfig> given = job::given_config(text);
  if (!given) return given.error().in("standard input");
  return read_training(env, *given);
}

/// A program's environment and argv, from standard input; strings only.
Result<std::string> invocation(const Env& env) {
  const std::string text = TRY(read_stdin());
  const Result<job::PyValue> given = job::python_loads(text);
  if (!given) return given.error().in("standard input");
  const job::PyValue* variables = given->find("variables");
  const job::PyValue* command = given->find("command");
  if (variables == nullptr || command == nullptr)
    return fail(Errc::invalid_input, "standard input: expected variables and a command");
  Env names;
  for (const job::PyValue::Member& member : variables->members)
    names[member.first] = member.second.text;
  Args words;
  for (const job::PyValue& word : command->items) words.push_back(word.text);
  return job::invocation_text(TRY(read_training(env)),
                              {.variables = std::move(names), .command = std::move(words)});
}

/// The options of a command line.
struct EnvWish {
  std::string_view form;  ///< "--json"; empty: the variables as text.
  bool from_stdin = false;
  ClientWish client;
};

Result<void> check(const EnvWish& wish, int forms) {
  if (forms > 1) return fail(Errc::invalid_input, "only one output format can be selected");
  const bool reads =
      wish.form == "--properties" || wish.form == "--to-env-vars" || wish.form == "--to-cmd-args";
  if (wish.from_stdin && !reads)
    return fail(Errc::invalid_input,
                "--stdin requires --properties, --to-env-vars or --to-cmd-args");
  const ClientWish& client = wish.client;
  if ((client.file && client.file->empty()) || (client.bucket && client.bucket->empty()))
    return fail(Errc::invalid_input, "--write and --bucket each require a value");
  if (wish.form != "--client" && (client.file || client.bucket || client.notebook))
    return fail(Errc::invalid_input, "--write, --bucket and --notebook require --client");
  return {};
}

std::variant<EnvWish, command::Stop> wish_of(const Args& args) {
  const command::Page& page = command::page_of("env");
  command::Line line(page);
  constexpr std::array<const char*, 7> names = {"--json",        "--shell",       "--properties",
                                                "--to-env-vars", "--to-cmd-args", "--invocation",
                                                "--client"};
  std::array<bool, names.size()> asked{};
  for (std::size_t i = 0; i < names.size(); ++i) line.flag(names[i], asked[i]);
  EnvWish wish;
  line.flag("--stdin", wish.from_stdin);
  line.text("--write", wish.client.file);
  line.text("--bucket", wish.client.bucket);
  line.flag("--notebook", wish.client.notebook);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (asked[i]) wish.form = names[i];
  const Result<void> good =
      check(wish, static_cast<int>(std::count(asked.begin(), asked.end(), true)));
  if (!good) return command::wrong_line(page, good.error().text);
  return wish;
}

}  // namespace

std::string environment_text(const job::Training& training, std::string_view form) {
  if (form == "--properties") return job::python_dumps_plain(job::properties(training)) + "\n";
  if (form == "--to-env-vars") return job::env_json(job::to_env_vars(training)) + "\n";
  if (form == "--to-cmd-args")
    return job::python_dumps_plain(job::PyValue::of_list(job::to_cmd_args(training))) + "\n";
  const Env variables = job::sm_variables(training);
  if (form == "--json") return job::env_json(variables) + "\n";
  return form == "--shell" ? job::env_shell(variables) : job::env_text(variables);
}

int env_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm env", Log::Level::info);
  const std::variant<EnvWish, command::Stop> asked = wish_of(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&asked)) return tell(*stop, log);
  const EnvWish& wish = std::get<EnvWish>(asked);
  if (wish.form == "--client") return print_client(wish.client, env, log);
  if (wish.form == "--invocation") {
    const Result<std::string> text = invocation(env);
    if (text) return print(*text);
    log.error(text.error().text);
    return exit_failed;
  }
  const Result<job::Training> training = training_of(env, wish.from_stdin);
  if (!training) {
    log.error(training.error().text);
    return exit_failed;
  }
  return print(environment_text(*training, wish.form));
}

}  // namespace muster::env
