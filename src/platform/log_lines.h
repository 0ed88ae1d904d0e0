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

/// Whole lines that one writer of a host wrote, or what muster says of the host.
struct HostLines {
  UnixMillis time{0};
  int rank = -1;                          ///< As job::Lines::rank.
  bool alone = false;                     ///< As job::Lines::alone.
  job::Stream stream = job::Stream::out;  ///< As job::Lines::stream.
  std::string_view level{};  ///< "error", "warning" or "note" of muster's own; empty: the host's.
  std::string_view text{};   ///< Any bytes, '\n' between lines and none at the end.
};

/// Makes the lines that users see out of a host's journal: pieces of a line become one, of a
/// progress bar's states (job::Steps) there is one a second and the last, of muster's own lines
/// there are errors, warnings and notes. Times never go back. The same records always give the same
/// lines.
///
/// Pure; a copy goes on by itself from the same place.
class LogLines {
 public:
  /// Given lines that are valid during the call.
  using Take = std::function<void(const HostLines& lines)>;

  /// An unfinished line of `piece_bytes` is given as it is, and all unfinished lines where they
  /// take waiting_bytes_max() together: a host may claim any number of writers.
  explicit LogLines(std::size_t piece_bytes = job::line_bytes_max) : piece_bytes_(piece_bytes) {}
  /// Gives what `record` makes whole.
  void take(const job::Record& record, const Take& take);
  /// As above, of lines that were written at `time`.
  void take(UnixMillis time, const job::Lines& lines, const Take& take);
  /// Gives unfinished lines: the journal grows no more.
  void finish(const Take& take);
  UnixMillis last_time() const { return last_; }
  /// What unfinished lines take, with what each costs besides its bytes.
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  std::size_t waiting_bytes_max() const { return 4 * piece_bytes_; }

 private:
  struct Writer {
    int rank = -1;
    bool alone = false;
    job::Stream stream = job::Stream::out;
    auto operator<=>(const Writer&) const = default;
  };
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
};

}  // namespace muster::platform
