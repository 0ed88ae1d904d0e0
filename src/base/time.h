#pragma once

#include <chrono>

namespace muster {

/// Monotonic time, for deadlines. Pure code takes `TimePoint now` as an argument.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

/// Wall-clock milliseconds since 1970 (UTC), as in journals and messages.
using UnixMillis = std::chrono::milliseconds;

/// What the wall clock says. Pure code takes it as an argument, as it does `now`.
inline UnixMillis wall_time() {
  return std::chrono::duration_cast<UnixMillis>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace muster
