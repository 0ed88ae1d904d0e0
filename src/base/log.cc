#include "base/log.h"

#include "base/terminal.h"

namespace muster {

void Log::line(Level level, std::string_view text) const {
  if (level > level_) return;
  std::string said;
  if (level == Level::error) said = "error: ";
  if (level == Level::warning) said = "warning: ";
  said += text;
  // A log that nobody reads must not end the program.
  static_cast<void>(say_line(fd_, name_, said));
}

}  // namespace muster
