#include "cli/view/log_filter.h"

#include <doctest/doctest.h>

#include "base/process/local_time.h"

namespace muster::cli {
namespace {

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

TEST_CASE("log filter: a host's, a rank's and late entries are selected") {
  using Kind = LogEntry::Kind;
  const LogEntry status{.kind = Kind::status, .time = ms(5), .name = "Training"};
  const LogEntry rank_3{.kind = Kind::line, .time = ms(6), .host = "algo-2", .rank = 3};
  const LogEntry plain{.kind = Kind::line, .time = ms(7), .host = "algo-1"};
  const LogEntry own{.kind = Kind::own, .time = ms(8), .host = "algo-2", .name = "warning"};
  struct {
    const char* name;
    LogFilter filter;
    bool status, rank_3, plain, own;
  } const cases[] = {
      {"all", {}, true, true, true, true},
      {"host", {.host = "algo-2"}, false, true, false, true},
      {"rank", {.rank = 3}, false, true, false, false},
      {"other rank", {.rank = 0}, false, false, false, false},
      {"host and rank", {.host = "algo-1", .rank = 3}, false, false, false, false},
      {"since", {.since = ms(7)}, false, false, true, true},
      {"tail", {.tail = 1}, true, true, true, true},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CHECK(one.filter.takes(status) == one.status);
    CHECK(one.filter.takes(rank_3) == one.rank_3);
    CHECK(one.filter.takes(plain) == one.plain);
    CHECK(one.filter.takes(own) == one.own);
  }
}

TEST_CASE("log filter: the last entries are kept in their order") {
  LogTail tail(2);
  CHECK(tail.take().empty());
  for (const char* text : {"a", "b", "c"}) tail.add({.text = text});
  const std::deque<LogEntry> last = tail.take();
  REQUIRE(last.size() == 2);
  CHECK(last[0].text == "b");
  CHECK(last[1].text == "c");
  CHECK(tail.take().empty());
}

TEST_CASE("log filter: a moment is a span before now or a time") {
  use_utc();
  const UnixMillis now = ms(1'700'000'000'250);
  struct {
    const char* text;
    std::int64_t want;
  } const cases[] = {
      {"0s", 1'700'000'000'250},
      {"30s", 1'699'999'970'250},
      {"10m", 1'699'999'400'250},
      {"2h", 1'699'992'800'250},
      {"1d", 1'699'913'600'250},
      {"2023-11-14 22:13:20", 1'700'000'000'000},
      {"2023-11-14T22:13:20.5Z", 1'700'000'000'500},
      {"2023-11-14T23:13:20+01:00", 1'700'000'000'000},
      {"2023-11-14", 1'699'920'000'000},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    const Result<UnixMillis> got = moment("--since", one.text, now);
    REQUIRE(got);
    CHECK(*got == ms(one.want));
  }
  for (const char* bad : {"", "s", "-1s", "10", "10x", "1.5h", "yesterday", "99999999999d"}) {
    CAPTURE(bad);
    const Result<UnixMillis> got = moment("--since", bad, now);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(
        got.error().text.starts_with("--since: expected a duration (30s, 10m, 2h, 1d) or a time"));
  }
}

}  // namespace
}  // namespace muster::cli
