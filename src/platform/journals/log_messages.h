#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/journals/log_lines.h"

namespace muster::platform {

/// CloudWatch's limit of a message. Source: its quotas, "Event size".
constexpr std::size_t message_bytes_max = 256u << 10;

/// One line of a host's log.
struct LogEvent {
  UnixMillis time{0};
  std::string message;  ///< UTF-8, without the line's end.
  int rank = -1;        ///< The rank that wrote it; -1: not a rank, or not known.
  job::Stream stream = job::Stream::out;
  std::uint32_t tag_bytes = 0;  ///< Length of the rank's tag at the beginning of the message.
  int attempt = 1;              ///< The host's attempt in which it was written.

  /// The line without the tag.
  std::string_view line() const { return std::string_view(message).substr(tag_bytes); }
  bool operator==(const LogEvent&) const = default;
};

/// Converts the lines of a host's log (LogLines) to CloudWatch's messages. Lines of ranks
/// carry the tag that `train` itself adds without a steward, except for a rank that is alone on its
/// host. Muster's own lines become `HOST muster: LEVEL: TEXT`; if a host's own line begins like
/// that, a space is put in front. The same records always give the same events, so clients can use
/// an event's number as a position.
///
/// Pure; a copy continues independently from the same position.
class LogMessages {
 public:
  explicit LogMessages(std::string host) : host_(std::move(host)), lines_(message_bytes_max) {}
  /// Appends the events that `record` completes.
  void take(const job::Record& record, std::vector<LogEvent>& events);
  /// As above, of lines that were written at `time`.
  void take(UnixMillis time, const job::Lines& lines, std::vector<LogEvent>& events);
  /// Appends unfinished lines: the journal is complete.
  void finish(std::vector<LogEvent>& events);
  /// The state after the last record.
  const LogLines& lines() const { return lines_; }

 private:
  void add(const HostLines& lines, std::vector<LogEvent>& events) const;
  void add_own(const HostLines& lines, std::vector<LogEvent>& events) const;
  void add_line(const HostLines& from, const std::string& tag, std::string_view line,
                std::vector<LogEvent>& events) const;

  std::string host_;
  LogLines lines_;
};

}  // namespace muster::platform
