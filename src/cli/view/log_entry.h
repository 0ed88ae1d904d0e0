#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "job/outcome/lines.h"
#include "platform/journals/log_lines.h"
#include "platform/journals/log_merge.h"

namespace muster::cli {

/// One event of a job's log, for output. Pure: values only.
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

using LogMerge = platform::LogMerge<LogEntry>;

/// One message of a host's stream. `train` and `sm server` write a rank's lines as
/// "[1,mpirank:3,algo-2]<stdout>:text", and muster's own as "algo-2 muster: warning: text".
LogEntry log_entry(const std::string& host, UnixMillis time, std::string_view message);

/// Lines of a host's journal, together.
LogEntry log_entry(const std::string& host, const platform::HostLines& lines);

/// "algo-2" of the stream "job/algo-2-1700000000000".
std::string host_of_stream(std::string_view stream);

}  // namespace muster::cli
