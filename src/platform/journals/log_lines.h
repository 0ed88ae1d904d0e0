#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"
#include "job/outcome/lines.h"
#include "job/outcome/steps.h"
#include "job/wire/journal.h"

namespace muster::platform {

/// Whole lines of one writer of a host, or muster's own lines about the host.
struct HostLines {
  UnixMillis time{0};
  int rank = -1;                          ///< As job::Lines::rank.
  bool alone = false;                     ///< As job::Lines::alone.
  job::Stream stream = job::Stream::out;  ///< As job::Lines::stream.
  int attempt = 1;                        ///< The host's attempt in which they were written.
  std::string_view level{};  ///< "error", "warning", "note": muster's own; empty: the host's.
  std::string_view text{};   ///< Any bytes, '\n' between lines and none at the end.
};

/// Makes the lines that users see from a host's journal. Pieces of a line become one line. Of a
/// progress bar's states (job::Steps), one per second and the last are shown; of muster's own
/// lines, errors, warnings and notes. Times never go back. The same records always give the same
/// lines.
///
/// Pure; a copy continues independently from the same position.
class LogLines {
 public:
  /// Called with lines that are valid during the call.
  using Take = std::function<void(const HostLines& lines)>;

  /// An unfinished line that reaches `piece_bytes` is passed on as it is. So are all unfinished
  /// lines once they reach waiting_bytes_max() together: a host may claim any number of writers.
  explicit LogLines(std::size_t piece_bytes = job::line_bytes_max) : piece_bytes_(piece_bytes) {}
  /// Passes on the lines that `record` completes.
  void take(const job::Record& record, const Take& take);
  /// As above, for lines that were written at `time`.
  void take(UnixMillis time, const job::Lines& lines, const Take& take);
  /// Passes on unfinished lines: the journal is complete.
  void finish(const Take& take);
  UnixMillis last_time() const { return last_; }
  /// The memory of unfinished lines: their bytes and a fixed cost for each.
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  std::size_t waiting_bytes_max() const { return 4 * piece_bytes_; }

 private:
  struct Writer {
    int rank = -1;
    bool alone = false;
    job::Stream stream = job::Stream::out;
    auto operator<=>(const Writer&) const = default;
  };
  int attempt() const { return chapters_ > 1 ? chapters_ : 1; }
  void add(const Writer& writer, std::string_view bytes, const Take& take);
  std::string take_waiting(const Writer& writer);
  void take_steps(const Writer& writer, std::string_view bytes, const Take& take);
  void give_held(const Writer& writer, const Take& take);
  void give(const Writer& writer, std::string_view text, const Take& take) const;

  std::size_t piece_bytes_;
  std::map<Writer, std::string> waiting_;  ///< Unfinished lines.
  std::map<Writer, job::Steps> steps_;     ///< Writers that show progress.
  std::size_t waiting_bytes_ = 0;
  UnixMillis last_{0};
  int chapters_ = 0;  ///< Attempts that have begun: see JournalReader.
};

}  // namespace muster::platform
