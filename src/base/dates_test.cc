#include "base/dates.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace muster;

TEST_CASE("dates: each form is written and read back") {
  const UnixMillis time{784111777123};
  CHECK(http_date(time) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(iso_date(time) == "1994-11-06T08:49:37.123Z");
  CHECK(amz_date(time) == "19941106T084937Z");
  CHECK(http_date(UnixMillis(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(iso_date(UnixMillis(-1)) == "1969-12-31T23:59:59.999Z");
  const UnixMillis second{784111777000};
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 +0000"}) {
    CAPTURE(text);
    CHECK(parse_http_date(text) == second);
  }
  CHECK(parse_amz_date("19941106T084937Z") == second);
  CHECK(parse_iso_date("1994-11-06T08:49:37.123Z") == time);
  CHECK(parse_iso_date("1994-11-06T08:49:37.1239999Z") == time);
  CHECK(parse_iso_date("1994-11-06T08:49:37Z") == second);
  CHECK(parse_amz_date("20240229T000000Z"));
  CHECK(utc_text(time) == "1994-11-06 08:49:37");
}

TEST_CASE("dates: invalid dates are refused") {
  for (const char* text : {"", "x", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
                           "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
                           "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
                           "a b c d e f g h i j k l m n o p"}) {
    CAPTURE(text);
    CHECK(!parse_http_date(text));
  }
  for (const char* text :
       {"", "20230229T000000Z", "20231301T000000Z", "20231201T250000Z", "20231201 000000Z",
        "20231201T000000", "2023120100000000", "2023-201T00000Z", "20231201T0000-1Z"}) {
    CAPTURE(text);
    CHECK(!parse_amz_date(text));
  }
  for (const char* text :
       {"", "1994-11-06", "1994-11-06T08:49:37", "1994-11-06 08:49:37Z", "1994-11-06T08:49:37.Z",
        "1994-11-06T08:49:37,1Z", "1994-11-06T08:49:37.xZ", "1994-13-06T08:49:37Z"}) {
    CAPTURE(text);
    CHECK(!parse_iso_date(text));
  }
}

TEST_CASE("dates: ISO 8601 in and out") {
  struct {
    const char* text;
    double seconds;
    const char* written;
  } const cases[] = {
      {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"},
      {"2026-11-21T13:00:00Z", 1795266000, "2026-11-21T13:00:00Z"},
      {"2026-11-21T14:00:00+01:00", 1795266000, "2026-11-21T13:00:00Z"},
      {"2026-11-21T05:00:00.250-0800", 1795266000.25, "2026-11-21T13:00:00.250Z"},
      {"2026-11-21T13:00:00", 1795266000, "2026-11-21T13:00:00Z"},
      {"2026-11-21", 1795219200, "2026-11-21T00:00:00Z"},
      {"1969-12-31T23:59:59.5Z", -0.5, "1969-12-31T23:59:59.500Z"},
      {"2024-02-29T00:00:00Z", 1709164800, "2024-02-29T00:00:00Z"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const std::optional<double> seconds = parse_iso8601(c.text);
    REQUIRE(seconds);
    CHECK(*seconds == c.seconds);
    CHECK(iso8601(*seconds) == c.written);
  }
  for (const char* text :
       {"", "2026", "2026-13-01", "2026-02-30", "2026-11-21T", "2026-11-21T24:00:00Z",
        "2026-11-21T13:00Z", "2026-11-21T13:00:00.Z", "2026-11-21T13:00:00ZZ",
        "2026-11-21T13:00:00+1", "tomorrow", "2026-11-21T13:00:00.1234567890Z"}) {
    CAPTURE(text);
    CHECK(!parse_iso8601(text));
  }
  CHECK(iso8601(1e300) == "9999-12-31T23:59:59Z");
  CHECK(iso8601(-1e300) == "0000-01-01T00:00:00Z");
  CHECK(iso8601(std::nan("")) == "0000-01-01T00:00:00Z");
}
