#include "cli/view/log_filter.h"

#include "base/process/local_time.h"
#include "cli/values.h"

namespace muster::cli {
bool LogFilter::takes(const LogEntry& entry) const {
  if (since && entry.time < *since) return false;
  if (rank && (entry.kind != LogEntry::Kind::line || entry.rank != *rank)) return false;
  return host.empty() || (entry.kind != LogEntry::Kind::status && entry.host == host);
}

void LogTail::add(LogEntry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > most_) entries_.pop_front();
}

Result<UnixMillis> moment(const std::string& flag, const std::string& text, UnixMillis now) {
  if (const std::optional<UnixMillis> span = span_in(text)) return now - *span;
  if (const std::optional<UnixMillis> time = parse_local(text)) return *time;
  return wrong_value(flag, "a duration (30s, 10m, 2h, 1d) or a time (2026-01-31 12:00:00)", text);
}

}  // namespace muster::cli
