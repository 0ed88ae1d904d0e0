#include "platform/standstill.h"

#include <doctest/doctest.h>

namespace muster::platform {

using namespace std::chrono_literals;

TEST_CASE("silence: reported once, counted from the last line, and over with the next line") {
  Silence silence(5min);
  CHECK(!silence.heard(UnixMillis(1s)));  // A preparation.
  CHECK(!silence.due());
  silence.begin(UnixMillis(10s));
  CHECK(silence.due() == UnixMillis(310s));
  CHECK(!silence.heard(UnixMillis(60s)));
  silence.begin(UnixMillis(20s));  // Another host's, and earlier.
  CHECK(silence.due() == UnixMillis(360s));
  CHECK(!silence.look(UnixMillis(359s)));
  CHECK(silence.look(UnixMillis(400s)) == UnixMillis(60s));
  CHECK(!silence.due());
  CHECK(!silence.look(UnixMillis(900s)));
  CHECK(silence.heard(UnixMillis(901s)));
  CHECK(!silence.heard(UnixMillis(902s)));
  CHECK(silence.look(UnixMillis(1300s)) == UnixMillis(902s));
}

TEST_CASE("silence: no limit is set") {
  Silence silence(0s);
  silence.begin(UnixMillis(10s));
  CHECK(!silence.due());
  CHECK(!silence.look(UnixMillis(999'999s)));
}

}  // namespace muster::platform
