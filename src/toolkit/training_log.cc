#include "toolkit/training_log.h"

#include <unistd.h>

#include "base/terminal.h"
#include "base/time.h"
#include "job/invocation.h"

namespace muster::toolkit {
namespace {
constexpr int level_info = 20;
constexpr int level_error = 40;
constexpr int level_off = 1000;
}  // namespace

Result<TrainingLog> TrainingLog::open(const job::Training& training, const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_TRAINING_LOG");
  const bool off = found != env.end() && found->second == "0";
  const int level = TRY(job::log_level(training));
  return TrainingLog(off ? level_off : level);
}

void TrainingLog::invocation(const job::Training& training, const Command& command) const {
  if (level_ <= level_info)
    info(job::invocation_text(training, job::to_env_vars(training), command.argv));
}

void TrainingLog::info(std::string_view text) const {
  write(level_info, text);
}

bool TrainingLog::error(std::string_view text) const {
  return write(level_error, text);
}

bool TrainingLog::write(int level, std::string_view text) const {
  if (level < level_) return false;
  const std::string line = job::log_line(level, text, wall_time().count()) + "\n";
  return say(STDERR_FILENO, line).has_value();
}

}  // namespace muster::toolkit
