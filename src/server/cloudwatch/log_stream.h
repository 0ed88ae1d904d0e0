#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/journals/log_messages.h"

namespace muster::cloudwatch {

using platform::LogEvent;
using platform::LogMessages;

/// One host's log, read from its journal as it grows. Keeps marks, about one per 256 KiB, and no
/// lines. A journal that does not exist yet counts as empty; a damaged one ends before the damage.
class LogStream {
 public:
  LogStream(std::string host, std::string journal_path);

  /// The journal may be moved unchanged when its job ends.
  void moved_to(std::string journal_path) { path_ = std::move(journal_path); }

  /// Reads new records of the journal since the last call. `ended`: the job has ended, so
  /// unfinished lines count as lines. Blocks. Error: `system`.
  Result<void> catch_up(bool ended);

  /// As of the last catch_up().
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }  ///< Sum of all messages.
  UnixMillis first_time() const { return first_time_; }
  UnixMillis last_time() const { return messages_.lines().last_time(); }

  /// Events from number `from` (0 is the first): at most `events_max`, and no more after
  /// `bytes_max` bytes of messages; at least one if there is one. Error: `system`.
  Result<std::vector<LogEvent>> read(std::uint64_t from, std::size_t events_max,
                                     std::size_t bytes_max);
  /// The number of the first event at `time` or later; count() if there is none.
  Result<std::uint64_t> first_at(UnixMillis time);

 private:
  struct Mark {
    std::uint64_t number = 0;  ///< Number of the next event.
    std::uint64_t offset = 0;  ///< Where to continue reading the journal for it.
    LogMessages messages;
  };
  /// Receives a record's events and the offset after the record; returns false to stop. The visitor
  /// owns the events.
  using Visit = std::function<bool(std::vector<LogEvent>& events, std::uint64_t offset)>;
  /// Reads records from `offset` on, which is the position of `messages`.
  Result<void> scan(std::uint64_t offset, LogMessages& messages, std::size_t piece_bytes,
                    const Visit& visit) const;
  const Mark& mark_before(std::uint64_t number) const;

  std::string path_;
  std::vector<Mark> marks_;
  Mark read_to_;  ///< Where the last read() ended, at a record's end: the next one can begin here.
  LogMessages messages_;
  std::uint64_t offset_ = 0;  ///< After the last record that was read.
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  UnixMillis first_time_{0};
  /// Events of unfinished lines, which no record completes.
  std::vector<LogEvent> tail_;
  bool ended_ = false;
};

}  // namespace muster::cloudwatch
