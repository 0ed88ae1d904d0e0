#pragma once

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// Asserts a precondition of code that gets the time from its callers: `now` does not go back from
/// one event to the next. Reading the clock at each event is enough; a time kept across a wait is
/// not. Questions (const methods) may be about any time.
class ForwardTime {
 public:
  /// No event may be earlier than `start`.
  explicit ForwardTime(TimePoint start = TimePoint::min()) : latest_(start) {}

  /// Records an event at `now`. Aborts if a previous event had a later time.
  void advance(TimePoint now) {
    CHECK_THAT(now >= latest_, "the time of events must not go back");
    latest_ = now;
  }

 private:
  TimePoint latest_;
};

}  // namespace muster
