#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "job/outcome/lines.h"
#include "platform/journals/log_lines.h"

namespace muster::cli {

/// Logs of many hosts, as CloudWatch Logs hands them out, made one again. Pure: values only.

/// Something that is told of a job.
struct LogEntry {
  enum class Kind { status, line, own };

  Kind kind = Kind::line;
  UnixMillis time{0};
  std::string host{};
  int rank = -1;  ///< The line's; -1: none.
  job::Stream stream = job::Stream::out;
  std::string name{};  ///< The status, or the level of muster's own line.
  std::string text{};  ///< Without a line's end; may be several lines of one writer.

  bool operator==(const LogEntry&) const = default;
};

/// One message of a host's stream. `train` and `sm server` write a rank's lines as
/// "[1,mpirank:3,algo-2]<stdout>:text", and muster's own as "algo-2 muster: warning: text".
LogEntry log_entry(const std::string& host, UnixMillis time, std::string_view message);

/// Lines of a host's journal, together.
LogEntry log_entry(const std::string& host, const platform::HostLines& lines);

/// "algo-2" of the stream "job/algo-2-1700000000000".
std::string host_of_stream(std::string_view stream);

/// Sources of entries, each in order of its own, as one in order of time. Of equal times that of
/// the earlier source comes first.
class LogMerge {
 public:
  /// The new source's number.
  std::size_t add_source();
  void add(std::size_t source, LogEntry entry);
  /// The source has nothing more for now.
  void dry(std::size_t source);
  /// Sources are asked again.
  void again();
  /// A source that has to be read before the next entry is known.
  std::optional<std::size_t> wanting() const;
  /// The next entry; none if one is wanting, or all is given.
  std::optional<LogEntry> next();

 private:
  using Head = std::pair<UnixMillis, std::size_t>;

  std::vector<std::deque<LogEntry>> sources_;
  std::set<Head> heads_;           ///< The first entry's time of each source that has one.
  std::set<std::size_t> dry_;      ///< Sources that have nothing more for now.
  std::set<std::size_t> wanting_;  ///< Sources without an entry that may have more.
};

}  // namespace muster::cli
