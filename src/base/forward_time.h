#pragma once

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// Asserts a precondition of code that callers tell the time: `now` does not go back from one event
/// to the next. Reading the clock at each event is enough; a time kept across a wait is not.
/// Questions (const methods) may be about any time.
class ForwardTime {
 public:
  /// `start`: no event is earlier.
  explicit ForwardTime(TimePoint start = TimePoint::min()) : latest_(start) {}

  /// An event at `now`. Aborts if an earlier event was later.
  void advance(TimePoint now) {
    CHECK_THAT(now >= latest_, "the time of events must not go back");
    latest_ = now;
  }

 private:
  TimePoint latest_;
};

}  // namespace muster
