#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "cli/view/log_merge.h"

namespace muster::cli {

/// The part of a job's log that is asked for. Pure: values only.
struct LogFilter {
  std::string host{};         ///< Only this host's lines; empty: all hosts'.
  std::optional<int> rank{};  ///< Only this rank's lines.
  std::optional<UnixMillis> since{};
  std::size_t tail = 0;  ///< Only so many at the end; 0: all.

  /// Whether the entry is asked for, `tail` aside. A job's statuses are no host's and no rank's.
  bool takes(const LogEntry& entry) const;
};

/// The last entries of many, as they come.
class LogTail {
 public:
  explicit LogTail(std::size_t most) : most_(most) {}
  void add(LogEntry entry);
  /// All that is kept, which is then gone.
  std::deque<LogEntry> take() { return std::exchange(entries_, {}); }

 private:
  const std::size_t most_;
  std::deque<LogEntry> entries_;
};

/// "30s", "10m", "2h" and "1d" before `now`, or a date, or a time as logs and ISO 8601 have it: UTC
/// unless it says otherwise. Error: `invalid_input` that names `flag`.
Result<UnixMillis> moment(const std::string& flag, const std::string& text, UnixMillis now);

}  // namespace muster::cli
