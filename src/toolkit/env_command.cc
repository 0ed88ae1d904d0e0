#include "toolkit/env_command.h"

#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "job/training.h"
#include "toolkit/job_files.h"

namespace muster::toolkit {
namespace {

constexpr const char* help = R"HELP(usage: sm env [--json | --shell]

Prints what a training script of the job in /opt/ml (SAGEMAKER_BASE_DIR moves it) finds in its
environment: every SM_* variable, as sagemaker-training sets them.

  --json    one JSON object
  --shell   lines that a POSIX shell reads: eval "$(sm env --shell)"

exit status: 0, 1 if the job cannot be read, 2 wrong usage.
)HELP";

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

int print(const std::string& text) {
  return write_all(STDOUT_FILENO, text) ? 0 : exit_failure;
}

}  // namespace

int env_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm env", Log::Level::info);
  const std::string form = args.empty() ? "" : args[0];
  if (form == "--help" || form == "-h") return print(help);
  if (args.size() > 1 || (!form.empty() && form != "--json" && form != "--shell")) {
    log.error("unknown arguments; see sm env --help");
    return exit_usage;
  }
  const Result<job::Training> training = read_training(env);
  if (!training) {
    log.error(training.error().text);
    return exit_failure;
  }
  const Env variables = job::sm_variables(*training);
  if (form == "--json") return print(job::env_json(variables) + "\n");
  return print(form == "--shell" ? job::env_shell(variables) : job::env_text(variables));
}

}  // namespace muster::toolkit
