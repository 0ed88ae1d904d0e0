#include "platform/journals/log_messages.h"

#include <optional>

#include "base/terminal.h"
#include "base/text.h"
#include "job/outcome/rank_tag.h"

namespace muster::platform {
namespace {

/// Between a host's name and what muster itself says of it.
constexpr const char* own_mark = " muster: ";
bool is_like_own(std::string_view line, const std::string& host) {
  return line.starts_with(host) && line.substr(host.size()).starts_with(own_mark);
}

/// A `train` that has no steward writes tags itself.
void read_tag(LogEvent& event) {
  const std::optional<job::RankTag> tag = job::rank_tag_in(event.message);
  if (!tag) return;
  event.rank = tag->rank;
  event.stream = tag->stream;
  event.tag_bytes = static_cast<std::uint32_t>(tag->bytes);
}

/// Where to cut `text` so that no more than `most` bytes stand before it and no character is torn.
std::size_t cut_at(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t at = most;
  while (at > most - 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

void LogMessages::take(const job::Record& record, std::vector<LogEvent>& events) {
  lines_.take(record, [&](const HostLines& lines) { add(lines, events); });
}

void LogMessages::take(UnixMillis time, const job::Lines& lines, std::vector<LogEvent>& events) {
  lines_.take(time, lines, [&](const HostLines& whole) { add(whole, events); });
}

void LogMessages::finish(std::vector<LogEvent>& events) {
  lines_.finish([&](const HostLines& lines) { add(lines, events); });
}

void LogMessages::add(const HostLines& lines, std::vector<LogEvent>& events) const {
  if (!lines.level.empty()) return add_own(lines, events);
  const std::string tag = lines.alone ? "" : job::rank_tag(lines.rank, host_, lines.stream);
  std::string_view rest = lines.text;
  while (true) {
    const std::size_t end = rest.find('\n');
    add_line(lines, tag, rest.substr(0, end), events);
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + 1);
  }
}

void LogMessages::add_own(const HostLines& lines, std::vector<LogEvent>& events) const {
  LogEvent& event = events.emplace_back();
  event.time = lines.time;
  event.attempt = lines.attempt;
  const std::string level = lines.level == "note" ? "" : std::string(lines.level) + ": ";
  event.message = host_ + own_mark + level + visible_line(lines.text);
  event.message.resize(cut_at(event.message, message_bytes_max));
}

void LogMessages::add_line(const HostLines& from, const std::string& tag, std::string_view line,
                           std::vector<LogEvent>& events) const {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string replaced = is_utf8(line) ? std::string() : to_utf8(line);
  std::string_view rest = replaced.empty() ? line : replaced;
  do {
    const std::string front = tag.empty() && is_like_own(rest, host_) ? " " : tag;
    const std::size_t size = cut_at(rest, message_bytes_max - front.size());
    LogEvent& event = events.emplace_back();
    event.time = from.time;
    event.rank = from.rank;
    event.stream = from.stream;
    event.attempt = from.attempt;
    event.tag_bytes = static_cast<std::uint32_t>(tag.size());
    event.message.reserve(front.size() + size);
    event.message += front;
    event.message += rest.substr(0, size);
    if (from.rank < 0) read_tag(event);
    rest.remove_prefix(size);
  } while (!rest.empty());
}

}  // namespace muster::platform
