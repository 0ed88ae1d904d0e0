#include "host/operators/training_log.h"

#include <unistd.h>

#include "base/terminal.h"
#include "base/time.h"
#include "job/training/invocation.h"

namespace muster::operators {
namespace {
constexpr int level_info = 20;
constexpr int level_warning = 30;
constexpr int level_error = 40;
constexpr int level_off = 1000;
constexpr const char* variable = "MUSTER_TRAINING_LOG";
}  // namespace

Result<TrainingLog> TrainingLog::open(const job::Training& training, const Env& env) {
  const Env::const_iterator found = env.find(variable);
  const std::string wish = found == env.end() ? "" : found->second;
  const int level = TRY(job::log_level(training));
  return TrainingLog(wish == "0" ? level_off : level, wish != "1");
}

Result<TrainingLog> TrainingLog::of_operator(const job::Training& training, const Env& env) {
  if (env.contains(variable)) return open(training, env);
  return TrainingLog(level_off, true);
}

void TrainingLog::launch(const launch::HostPlan& plan) const {
  for (const std::string& line : plan.log) info(line);
  if (plan.launcher_command) info(job::command_text(plan.launcher_command->argv, plan.rank.argv));
  for (const launch::HostProgram& program : plan.programs)
    info(program.name + ": " + job::command_text(program.command.argv, {}));
}

void TrainingLog::launched(const launch::HostPlan& plan) const {
  if (plan.launcher == launch::Launcher::mpi && !plan.launcher_command)
    info("MPI process finished.");
}

void TrainingLog::invocation(const job::Training& training, const launch::HostPlan& plan) const {
  if (!shows_info()) return;
  job::Invocation invocation;
  invocation.variables = job::to_env_vars(training);
  // The only variable that the plan decides and that logs in guides show.
  if (const auto path = plan.rank.env.find("PYTHONPATH"); path != plan.rank.env.end())
    invocation.variables.insert(*path);
  invocation.command = plan.rank.argv;
  if (plan.launcher_command) {
    invocation.rank_command = std::move(invocation.command);
    invocation.command = plan.launcher_command->argv;
  }
  // An agent's command line ends with the command of its ranks.
  if (!plan.programs.empty()) invocation.command = plan.programs.front().command.argv;
  invocation.is_folded = is_folded_;
  info(job::invocation_text(training, invocation));
}

bool TrainingLog::shows_info() const {
  return level_ <= level_info;
}

void TrainingLog::info(std::string_view text) const {
  write(level_info, text);
}

void TrainingLog::warning(std::string_view text) const {
  write(level_warning, text);
}

bool TrainingLog::error(std::string_view text) const {
  return write(level_error, text);
}

bool TrainingLog::write(int level, std::string_view text) const {
  if (level < level_) return false;
  const std::string line = job::log_line(level, text, wall_time().count()) + "\n";
  return say(STDERR_FILENO, line).has_value();
}

}  // namespace muster::operators
