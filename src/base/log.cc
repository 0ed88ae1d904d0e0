#include "base/log.h"

#include "base/fd.h"

namespace muster {

void Log::line(Level level, std::string_view text) const {
  if (level > level_) return;
  std::string line = name_ + ": ";
  if (level == Level::error) line += "error: ";
  if (level == Level::warning) line += "warning: ";
  line += text;
  line += '\n';
  static_cast<void>(write_all(fd_, line));  // A log that nobody reads must not end the program.
}

}  // namespace muster
