#include "cli/view/last_lines.h"

#include <algorithm>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr std::size_t line_bytes_max = 200;
constexpr std::size_t ranks_shown = 16;

/// The last line of `bytes` with something on it.
std::string_view last_line(std::string_view bytes) {
  const std::size_t end = bytes.find_last_not_of("\r\n\t ");
  if (end == std::string_view::npos) return {};
  bytes = bytes.substr(0, end + 1);
  const std::size_t start = bytes.find_last_of("\r\n");
  return start == std::string_view::npos ? bytes : bytes.substr(start + 1);
}

}  // namespace

void LastLines::take(const std::string& host, UnixMillis time, const job::Lines& lines) {
  if (end_) return;
  const std::string_view line = last_line(lines.bytes);
  if (line.empty()) return;
  last_[{host, lines.rank}] = {time, std::string(line.substr(0, line_bytes_max))};
}

void LastLines::freeze(UnixMillis now) {
  if (!end_) end_ = now;
}

std::string LastLines::text() const {
  if (!end_) return {};
  std::vector<std::pair<UnixMillis, std::string>> lines;
  const bool has_ranks = std::any_of(last_.begin(), last_.end(),
                                     [](const auto& each) { return each.first.second >= 0; });
  for (const auto& [writer, last] : last_) {
    if (has_ranks && writer.second < 0) continue;  // What started them is not waited for.
    const auto silent = std::max<std::int64_t>((*end_ - last.time).count(), 0) / 1000;
    const std::string rank = writer.second < 0 ? "" : " rank " + std::to_string(writer.second);
    lines.emplace_back(last.time, "    " + writer.first + rank + ", " + std::to_string(silent) +
                                      " s before the end: " + visible_line(last.line) + "\n");
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), ranks_shown); ++i) text += lines[i].second;
  if (lines.size() > ranks_shown)
    text += "    and " + std::to_string(lines.size() - ranks_shown) + " ranks that wrote later\n";
  return text;
}

}  // namespace muster::cli
