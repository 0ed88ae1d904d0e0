#include "cli/log_filter.h"

#include <cmath>

#include "base/dates.h"
#include "base/text.h"
#include "cli/values.h"

namespace muster::cli {
namespace {

/// Seconds of a span's unit; 0: it is none.
std::int64_t unit_seconds(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    default:
      return 0;
  }
}

/// "10m"
std::optional<UnixMillis> span_in(std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000;
  if (text.empty()) return std::nullopt;
  const std::int64_t unit = unit_seconds(text.back());
  const std::optional<std::int64_t> count = parse_integer(text.substr(0, text.size() - 1));
  if (unit == 0 || !count || *count < 0 || *count > most) return std::nullopt;
  return std::chrono::seconds(*count * unit);
}

}  // namespace

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
  const std::optional<double> time = parse_iso8601(text);
  if (time) return UnixMillis(std::llround(*time * 1000));
  return wrong_value(flag, "a span (30s, 10m, 2h, 1d) or a time (2026-01-31 12:00:00, UTC)", text);
}

}  // namespace muster::cli
