#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "cli/view/log_entry.h"

namespace muster::cli {

/// The requested part of a job's log. Pure: values only.
struct LogFilter {
  std::string host{};         ///< Only this host's lines; empty: all hosts'.
  std::optional<int> rank{};  ///< Only this rank's lines.
  std::optional<UnixMillis> since{};
  std::size_t tail = 0;  ///< Only this many entries at the end; 0: all.

  /// True if the entry is requested, ignoring `tail`. A job's statuses belong to no host and no
  /// rank.
  bool takes(const LogEntry& entry) const;
};

/// Keeps the last entries of a stream.
class LogTail {
 public:
  explicit LogTail(std::size_t most) : most_(most) {}
  void add(LogEntry entry);
  /// Removes and returns all entries.
  std::deque<LogEntry> take() { return std::exchange(entries_, {}); }

 private:
  const std::size_t most_;
  std::deque<LogEntry> entries_;
};

/// Parses "30s", "10m", "2h" and "1d" before `now`, a date, or a time as in logs and ISO 8601: in
/// this process's zone unless it has one. Error: `invalid_input` that names `flag`.
Result<UnixMillis> moment(const std::string& flag, const std::string& text, UnixMillis now);

}  // namespace muster::cli
