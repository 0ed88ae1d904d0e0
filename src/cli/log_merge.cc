#include "cli/log_merge.h"

#include <utility>

#include "base/text.h"

namespace muster::cli {
namespace {

/// Takes `start` away from the front of `text`, if it is there.
bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_rank(const std::string& host, std::string_view& text, LogEntry& entry) {
  std::string_view rest = text;
  if (!take(rest, "[1,mpirank:")) return false;
  const std::size_t comma = rest.substr(0, 12).find(',');
  if (comma == std::string_view::npos) return false;
  const std::optional<std::int64_t> rank = parse_integer(rest.substr(0, comma));
  if (!rank || *rank < 0 || *rank > 1'000'000) return false;
  rest.remove_prefix(comma + 1);
  if (!take(rest, host) || !take(rest, "]")) return false;
  if (take(rest, "<stderr>:"))
    entry.stream = job::Stream::err;
  else if (!take(rest, "<stdout>:"))
    return false;
  entry.rank = static_cast<int>(*rank);
  text = rest;
  return true;
}

bool take_own(const std::string& host, std::string_view& text, LogEntry& entry) {
  std::string_view rest = text;
  if (!take(rest, host) || !take(rest, " muster: ")) return false;
  for (const char* level : {"error", "warning"}) {
    if (!take(rest, std::string(level) + ": ")) continue;
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

std::string host_of_stream(std::string_view stream) {
  const std::size_t slash = stream.rfind('/');
  if (slash != std::string_view::npos) stream.remove_prefix(slash + 1);
  const std::size_t dash = stream.rfind('-');
  const bool dated = dash != std::string_view::npos && stream.find('-') != dash;
  return std::string(dated ? stream.substr(0, dash) : stream);
}

std::size_t LogMerge::add_source() {
  sources_.emplace_back();
  return sources_.size() - 1;
}

void LogMerge::add(std::size_t source, LogEntry entry) {
  sources_[source].entries.push_back(std::move(entry));
}

void LogMerge::again() {
  for (Source& source : sources_) source.dry = false;
}

std::optional<std::size_t> LogMerge::wanting() const {
  for (std::size_t i = 0; i < sources_.size(); ++i)
    if (sources_[i].entries.empty() && !sources_[i].dry) return i;
  return std::nullopt;
}

std::optional<LogEntry> LogMerge::next() {
  Source* first = nullptr;
  for (Source& source : sources_) {
    if (source.entries.empty()) {
      if (!source.dry) return std::nullopt;
      continue;
    }
    if (first == nullptr || source.entries.front().time < first->entries.front().time)
      first = &source;
  }
  if (first == nullptr) return std::nullopt;
  LogEntry entry = std::move(first->entries.front());
  first->entries.pop_front();
  return entry;
}

}  // namespace muster::cli
