#include "base/process/local_time.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

namespace muster {
namespace {

/// A zone without files: an hour ahead of UTC, two in summer.
class InZone {
 public:
  explicit InZone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  InZone(const InZone&) = delete;
  InZone& operator=(const InZone&) = delete;
  ~InZone() { use_utc(); }
};

constexpr const char* berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr UnixMillis winter{1769860800123};  // 2026-01-31 12:00:00.123 UTC
constexpr UnixMillis summer{1785499200000};  // 2026-07-31 12:00:00 UTC

TEST_CASE("local time: shown with the offset that holds then") {
  const InZone zone(berlin);
  CHECK(zoned_text(winter) == "2026-01-31 13:00:00 +01:00");
  CHECK(zoned_text(summer) == "2026-07-31 14:00:00 +02:00");
  CHECK(local_text(winter) == "2026-01-31 13:00:00");
  CHECK(zoned_minute(summer) == "2026-07-31 14:00 +02:00");
  CHECK(zoned_text(UnixMillis(-1)) == "1970-01-01 00:59:59 +01:00");
  use_utc();
  CHECK(zoned_text(summer) == "2026-07-31 12:00:00 +00:00");
}

TEST_CASE("local time: other zones, with half hours and west of UTC") {
  {
    const InZone zone("IST-5:30");
    CHECK(zoned_text(winter) == "2026-01-31 17:30:00 +05:30");
  }
  const InZone zone("NST3:30");
  CHECK(zoned_text(winter) == "2026-01-31 08:30:00 -03:30");
}

TEST_CASE("local time: a typed time is of this zone unless it has another") {
  const InZone zone(berlin);
  struct {
    const char* text;
    std::int64_t want;
  } const cases[] = {
      {"2026-01-31 13:00:00", 1769860800000},      {"2026-01-31T13:00:00.5", 1769860800500},
      {"2026-07-31 14:00:00", 1785499200000},      {"2026-01-31", 1769814000000},
      {"2026-01-31T12:00:00Z", 1769860800000},     {"2026-01-31 13:00:00+01:00", 1769860800000},
      {"2026-01-31T07:00:00-0500", 1769860800000}, {"1969-12-31T12:00:00.25", -46799750},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    const std::optional<UnixMillis> got = parse_local(one.text);
    REQUIRE(got);
    CHECK(got->count() == one.want);
  }
  for (const char* bad : {"", "Z", "2026-01", "2026-01-31 13", "2026-02-30", "12:00:00", "now"})
    CHECK(!parse_local(bad));
}

}  // namespace
}  // namespace muster
