#pragma once

#include <chrono>

namespace muster {

/// Monotonic time, for deadlines. Pure code takes `TimePoint now` as an argument.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

/// Wall-clock milliseconds since 1970 (UTC), as they stand in journals and messages.
using UnixMillis = std::chrono::milliseconds;

}  // namespace muster
