#include "base/forward_time.h"

#include <doctest/doctest.h>

#include "base/testing.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("forward time: events may come at the same time, never at an earlier one") {
  ForwardTime time;
  time.advance(TimePoint{5s});
  CHECK_FALSE(aborts([&] { time.advance(TimePoint{5s}); }));
  CHECK_FALSE(aborts([&] { time.advance(TimePoint{6s}); }));
  CHECK(aborts([&] { time.advance(TimePoint{5s - 1ns}); }));
}

TEST_CASE("forward time: the first event may come at any time from the start on") {
  CHECK_FALSE(aborts([] { ForwardTime().advance(TimePoint::min()); }));
  CHECK_FALSE(aborts([] { ForwardTime().advance(TimePoint{-1h}); }));
  CHECK(aborts([] { ForwardTime(TimePoint{5s}).advance(TimePoint{4s}); }));
}
