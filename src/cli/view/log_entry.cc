#include "cli/view/log_entry.h"

#include <optional>

#include "job/outcome/rank_tag.h"

namespace muster::cli {
namespace {

/// Takes `start` away from the front of `text`, if it is there.
bool take_prefix(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_rank(const std::string& host, std::string_view& text, LogEntry& entry) {
  const std::optional<job::RankTag> tag = job::rank_tag_in(text);
  if (!tag || tag->host != host) return false;
  entry.rank = tag->rank;
  entry.stream = tag->stream;
  text.remove_prefix(tag->bytes);
  return true;
}

bool take_own(const std::string& host, std::string_view& text, LogEntry& entry) {
  std::string_view rest = text;
  if (!take_prefix(rest, host) || !take_prefix(rest, " muster: ")) return false;
  for (const char* level : {"error", "warning"}) {
    if (!take_prefix(rest, std::string(level) + ": ")) continue;
    entry.kind = LogEntry::Kind::own;
    entry.name = level;
    text = rest;
    return true;
  }
  return false;
}

}  // namespace

LogEntry log_entry(const std::string& host, UnixMillis time, std::string_view message) {
  LogEntry entry{.time = time, .host = host};
  if (!take_rank(host, message, entry)) take_own(host, message, entry);
  entry.text = message;
  return entry;
}

LogEntry log_entry(const std::string& host, const platform::HostLines& lines) {
  return {.kind = lines.level.empty() ? LogEntry::Kind::line : LogEntry::Kind::own,
          .time = lines.time,
          .host = host,
          .rank = lines.rank,
          .stream = lines.stream,
          .name = std::string(lines.level),
          .text = std::string(lines.text)};
}

std::string host_of_stream(std::string_view stream) {
  const std::size_t slash = stream.rfind('/');
  if (slash != std::string_view::npos) stream.remove_prefix(slash + 1);
  const std::size_t dash = stream.rfind('-');
  const bool dated = dash != std::string_view::npos && stream.find('-') != dash;
  return std::string(dated ? stream.substr(0, dash) : stream);
}

}  // namespace muster::cli
