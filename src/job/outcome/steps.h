#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace muster::job {

/// The last text among lines that are a progress bar's states, without its end; empty: they say
/// nothing.
std::string_view last_step(std::string_view lines);

/// The states of one writer's progress bar, thinned out for who reads a log: one a second at most,
/// and the last one. Pure: time is that of the lines.
class Steps {
 public:
  static constexpr Duration every = std::chrono::seconds(1);
  /// A longer text is not a progress bar, and is shown.
  static constexpr std::size_t text_bytes_max = 4096;

  /// The text, if it is to be shown now; else it is kept in place of an earlier one.
  std::optional<std::string> take(std::string text, UnixMillis time);
  /// The last state if it was not shown: another line follows, or nothing any more.
  std::string take_held() { return std::exchange(held_, {}); }
  std::size_t held_bytes() const { return held_.size(); }

 private:
  std::optional<UnixMillis> shown_;
  std::string held_;
};

}  // namespace muster::job
