#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/log_lines.h"

namespace muster::cloudwatch {

/// CloudWatch's limit of a message. Source: its quotas, "Event size".
constexpr std::size_t message_bytes_max = 256u << 10;

/// One line of a host's log.
struct LogEvent {
  UnixMillis time{0};
  std::string message;  ///< UTF-8, without the line's end.
  int rank = -1;        ///< Who wrote it; -1: no rank did, or it is not known.
  job::Stream stream = job::Stream::out;
  std::uint32_t tag_bytes = 0;  ///< As many bytes of the message are the rank's tag.

  /// What was written.
  std::string_view line() const { return std::string_view(message).substr(tag_bytes); }
  bool operator==(const LogEvent&) const = default;
};

/// The lines of a host's log (platform::LogLines) as CloudWatch's messages: lines of ranks (but one
/// that is alone on its host) carry the tag that `train` itself gives them where it has no steward,
/// what muster says becomes `HOST muster: LEVEL: TEXT`; a host's own line that begins so gets a
/// space in front. The same records always give the same events, so that an event's number is a
/// place that can be told to a client.
///
/// Pure; a copy goes on by itself from the same place.
class LogMessages {
 public:
  explicit LogMessages(std::string host) : host_(std::move(host)), lines_(message_bytes_max) {}
  /// Appends what `record` makes whole.
  void take(const job::Record& record, std::vector<LogEvent>& events);
  /// Appends unfinished lines: the journal grows no more.
  void finish(std::vector<LogEvent>& events);
  /// As they stand behind the last record.
  const platform::LogLines& lines() const { return lines_; }

 private:
  void add(const platform::HostLines& lines, std::vector<LogEvent>& events) const;
  void add_own(const platform::HostLines& lines, std::vector<LogEvent>& events) const;
  void add_line(const platform::HostLines& from, const std::string& tag, std::string_view line,
                std::vector<LogEvent>& events) const;

  std::string host_;
  platform::LogLines lines_;
};

}  // namespace muster::cloudwatch
