#include "env/env_command.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/log.h"
#include "base/terminal.h"
#include "env/env_client.h"
#include "env/job_files.h"
#include "job/invocation.h"
#include "job/python_json.h"
#include "job/training.h"

namespace muster::env {
namespace {

constexpr const char* help = R"HELP(usage: sm env [--json | --shell]
       sm env --properties | --to-env-vars | --to-cmd-args [--stdin]
       sm env --invocation
       sm env --client [--write FILE] [--bucket NAME] [--notebook]

Prints what a training script of the job in /opt/ml (SAGEMAKER_BASE_DIR moves it) finds in its
environment: every SM_* variable, as sagemaker-training sets them.

  --json    one JSON object
  --shell   lines that a POSIX shell reads: eval "$(sm env --shell)"

  --properties   one JSON object: what sagemaker_training's Environment says of the job
  --to-env-vars  one JSON object: its to_env_vars()
  --to-cmd-args  a JSON list: its to_cmd_args(), the script's arguments
  --stdin        standard input is {"resource_config": ..., "input_data_config": ...,
                 "hyperparameters": ...}; each member that is there replaces its file
  --invocation   what a log says before a program starts, with secrets masked; standard input is
                 {"variables": {NAME: TEXT, ...}, "command": [WORD, ...]}

  --client       no job's: what AWS's clients need to use a muster server (--client --help)

exit status: 0, 1 if the job cannot be read, 2 wrong usage.
)HELP";

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

/// Far more than the three files of a real job hold.
constexpr std::size_t stdin_bytes_max = 64u << 20;

int print(const std::string& text) {
  return say(STDOUT_FILENO, text) ? 0 : exit_failure;
}

Result<std::string> read_stdin() {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Errc::system, errno_text("standard input"));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > stdin_bytes_max)
      return fail(Errc::invalid_input, "standard input: expected at most 64 MiB");
  }
}

Result<job::Training> training_of(const Env& env, bool from_stdin) {
  if (!from_stdin) return read_training(env);
  const std::string text = TRY(read_stdin());
  const Result<job::GivenConfig> given = job::given_config(text);
  if (!given) return given.error().in("standard input");
  return read_training(env, *given);
}

std::string text_of(const job::Training& training, const std::string& form) {
  if (form == "--properties") return job::python_dumps_plain(job::properties(training)) + "\n";
  if (form == "--to-env-vars") return job::env_json(job::to_env_vars(training)) + "\n";
  if (form == "--to-cmd-args")
    return job::python_dumps_plain(job::PyValue::of_list(job::to_cmd_args(training))) + "\n";
  const Env variables = job::sm_variables(training);
  if (form == "--json") return job::env_json(variables) + "\n";
  return form == "--shell" ? job::env_shell(variables) : job::env_text(variables);
}

/// What a program is started with, from standard input. Texts only: environment and argv.
Result<std::string> invocation(const Env& env) {
  const std::string text = TRY(read_stdin());
  const Result<job::PyValue> given = job::python_loads(text);
  if (!given) return given.error().in("standard input");
  const job::PyValue* variables = given->find("variables");
  const job::PyValue* command = given->find("command");
  if (variables == nullptr || command == nullptr)
    return fail(Errc::invalid_input, "standard input: expected variables and command");
  Env names;
  for (const job::PyValue::Member& member : variables->members)
    names[member.first] = member.second.text;
  Args words;
  for (const job::PyValue& word : command->items) words.push_back(word.text);
  return job::invocation_text(TRY(read_training(env)), names, words);
}

bool known(const Args& args) {
  if (args.empty()) return true;
  const std::string& form = args[0];
  if (args.size() == 1 && (form == "--json" || form == "--shell" || form == "--invocation"))
    return true;
  const bool takes_stdin =
      form == "--properties" || form == "--to-env-vars" || form == "--to-cmd-args";
  return takes_stdin && (args.size() == 1 || (args.size() == 2 && args[1] == "--stdin"));
}

}  // namespace

int env_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm env", Log::Level::info);
  if (!args.empty() && args[0] == "--client")
    return env_client_main({args.begin() + 1, args.end()}, env);
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) return print(help);
  if (!known(args)) {
    log.error("unknown arguments; see sm env --help");
    return exit_usage;
  }
  if (args.size() == 1 && args[0] == "--invocation") {
    const Result<std::string> text = invocation(env);
    if (text) return print(*text);
    log.error(text.error().text);
    return exit_failure;
  }
  const Result<job::Training> training = training_of(env, args.size() == 2);
  if (!training) {
    log.error(training.error().text);
    return exit_failure;
  }
  return print(text_of(*training, args.empty() ? "" : args[0]));
}

}  // namespace muster::env
