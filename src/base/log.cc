#include "base/log.h"

#include "base/dates.h"
#include "base/terminal.h"
#include "base/time.h"
#include "base/topic.h"

namespace muster {

void Log::line(Level level, std::string_view text) const {
  if (level > level_) return;
  std::string said;
  if (level == Level::error) said = "error: ";
  if (level == Level::warning) said = "warning: ";
  said += level == Level::error ? with_topic(std::string(text)) : text;
  const std::string name = times_ ? iso_date(wall_time()) + " " + name_ : name_;
  // A log without a reader must not end the program.
  static_cast<void>(say_line(fd_, name, said));
}

}  // namespace muster
