#include "server/cloudwatch/usage_series.h"

#include <doctest/doctest.h>

#include <array>

namespace muster::cloudwatch {
namespace {

using store::HostSample;

TEST_CASE("usage series: values are what passed between two samples") {
  const HostSample before{.time = UnixMillis(1000),
                          .processor = 2'000'000,
                          .memory = 70,
                          .disk_read = 100,
                          .disk_written = -1,
                          .net_in = 0,
                          .net_out = 50};
  const HostSample now{.time = UnixMillis(3000),
                       .processor = 5'000'000,
                       .memory = 30,
                       .disk_read = 100,
                       .disk_written = 10,
                       .net_in = 4000,
                       .net_out = 40};
  const auto between = [&](const char* name) {
    return value_between(before, now, measure_named(name).value());
  };
  CHECK(between("processor") == 1.5);
  CHECK(between("memory") == 30.0);
  CHECK(between("disk-read") == 0.0);
  CHECK(!between("disk-written"));
  CHECK(between("network-in") == 2000.0);
  CHECK(!between("network-out"));  // The host was restarted.
  CHECK(!value_between(now, before, Measure::processor));
  CHECK(!value_between(now, now, Measure::processor));
  CHECK(!measure_named("Memory"));
  CHECK(!measure_named(""));
}

TEST_CASE("usage series: a job of any length has as many samples") {
  struct {
    std::int64_t seconds;
    std::int64_t pause;
  } const cases[] = {{-5, 1},   {0, 1},    {1000, 1},         {1001, 2},
                     {2001, 2}, {2002, 4}, {28 * 86400, 4096}};
  for (const auto& c : cases) {
    CAPTURE(c.seconds);
    const std::chrono::seconds first{1'700'000'000};
    CHECK(usage_pause(first, first + std::chrono::seconds(c.seconds)) ==
          std::chrono::seconds(c.pause));
  }
}

TEST_CASE("usage series: a line of CSV") {
  CHECK(usage_csv_line("a", "=b", "memory", UnixMillis(1500), 0.25) ==
        "\"a\",\"'=b\",\"memory\",1.5,0.25\r\n");
}

}  // namespace
}  // namespace muster::cloudwatch
