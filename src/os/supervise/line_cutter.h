#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "job/outcome/lines.h"

namespace muster::supervise {

/// Cuts a byte stream into chunks of whole lines. Pure.
///
/// As many lines as came at once make one chunk. A line ends with '\n'; a '\r' without '\n' behind
/// it ends one too and gets a '\n' (a progress bar's steps are lines). What is longer than
/// `job::line_bytes_max` comes in parts of that size. All other bytes are kept as they are.
class LineSplitter {
 public:
  enum class Kind { whole, steps, part };
  /// Lines of a chunk are all steps of a progress bar (job::Lines::steps), or none is.
  using Emit = std::function<void(std::string bytes, Kind kind)>;

  void feed(std::string_view bytes, const Emit& emit);
  /// Nothing came for a while: what there is of an unfinished line is given as a part.
  void flush_quiet(const Emit& emit);
  /// The stream has ended: an unfinished line is finished with '\n'.
  void finish(const Emit& emit);
  bool unfinished() const { return !pending_.empty(); }

 private:
  std::string take_pending();
  void give_whole(std::string_view bytes, const Emit& emit);
  static void give_run(std::string run, Kind kind, const Emit& emit);

  std::string pending_;
  bool in_part_ = false;  ///< A part was given and its line has not ended.
};

}  // namespace muster::supervise
