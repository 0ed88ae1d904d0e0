#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "job/journal.h"
#include "job/lines.h"
#include "job/steps.h"

namespace muster::logs {

/// CloudWatch's limit of a message. Source: its quotas, "Event size".
constexpr std::size_t message_bytes_max = 256u << 10;
/// Unfinished lines of one host that are kept, together: a host may claim any number of writers.
constexpr std::size_t waiting_bytes_max = 1u << 20;

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

/// Makes the lines of a host's log out of its journal: lines of ranks (but one that is alone on its
/// host) carry the tag that `train` itself gives them where it has no steward, pieces of a line
/// become one line, of a progress bar's states (job::Steps) one a second and the last, what muster
/// warns of becomes a line, `HOST muster: LEVEL: TEXT`; a host's own line that begins so gets a
/// space in front. Times never go back. The same records always give the same events, so that an
/// event's number is a place that can be told to a client.
///
/// Pure; a copy goes on by itself from the same place.
class LogLines {
 public:
  explicit LogLines(std::string host) : host_(std::move(host)) {}
  /// Appends what `record` makes whole.
  void take(const job::Record& record, std::vector<LogEvent>& events);
  /// Appends unfinished lines: the journal grows no more.
  void finish(std::vector<LogEvent>& events);
  UnixMillis last_time() const { return last_; }
  /// What unfinished lines take, with what each costs besides its bytes.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Writer {
    int rank = -1;
    bool alone = false;  ///< As job::Lines::alone.
    job::Stream stream = job::Stream::out;
    auto operator<=>(const Writer&) const = default;
  };
  void add(const Writer& writer, std::string_view bytes, std::vector<LogEvent>& events);
  std::string take_waiting(const Writer& writer);
  void take_steps(const Writer& writer, std::string_view bytes, std::vector<LogEvent>& events);
  void emit_held(const Writer& writer, std::vector<LogEvent>& events);
  void emit_own(const job::LogLine& line, std::vector<LogEvent>& events) const;
  void emit(const Writer& writer, std::string_view line, std::vector<LogEvent>& events);

  std::string host_;
  std::map<Writer, std::string> waiting_;  ///< Unfinished lines.
  std::map<Writer, job::Steps> steps_;     ///< Writers that show progress.
  std::size_t waiting_bytes_ = 0;
  UnixMillis last_{0};
};

}  // namespace muster::logs
