#include "job/outcome/steps.h"

namespace muster::job {

std::string_view last_step(std::string_view lines) {
  while (lines.ends_with('\r') || lines.ends_with('\n')) lines.remove_suffix(1);
  const std::size_t end = lines.find_last_of("\r\n");
  return end == std::string_view::npos ? lines : lines.substr(end + 1);
}

std::optional<std::string> Steps::take(std::string text, UnixMillis time) {
  const bool due = !shown_ || time < *shown_ || time - *shown_ >= every;
  if (!due && text.size() <= text_bytes_max) {
    held_ = std::move(text);
    return std::nullopt;
  }
  shown_ = time;
  held_.clear();
  return text;
}

}  // namespace muster::job
