#include "job/metric_definitions.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::job {
namespace {

std::string scraped(const char* regex, const std::string& line) {
  const MetricDefinitions definitions = *MetricDefinitions::from({{"m", regex}});
  std::string all;
  for (const MetricValue& each : definitions.values_in(line)) all += Json(each.value).dump() + " ";
  return all;
}

TEST_CASE("metric definitions: expressions find numbers in lines") {
  struct {
    const char* regex;
    std::string line;
    const char* want;
  } const cases[] = {
      {"loss: ([0-9.]+)", "step 1 loss: 0.25 acc: 1", "0.25 "},
      {"loss=(.*?);", "loss=1e-3;", "0.001 "},
      {"loss=(.*?);", "loss=1;loss=-2;", "1.0 -2.0 "},
      {"[0-9]+", "1 and 2", "1.0 2.0 "},
      {"loss=(\\S+)", "loss=nan", ""},
      {"loss=(\\S+)", "loss=+5 ", "5.0 "},
      {"loss=(\\S+)", "loss=five", ""},
      {"x*", "aaa", ""},
      {"loss=(1)?", "loss=", ""},
      {"([0-9]+)", std::string(100000, '1'), ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.regex);
    CHECK(scraped(c.regex, c.line) == c.want);
  }
}

TEST_CASE("metric definitions: syntax that RE2 does not support is refused with its reason") {
  for (const char* regex : {"(?<=a)b", "(", "(a)\\1", "a{5000}"}) {
    const Result<MetricDefinitions> got = MetricDefinitions::from({{"m", regex}});
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.find("\"m\"") != std::string::npos);
  }
  CHECK(MetricDefinitions::from({})->values_in("loss=1").empty());
}

TEST_CASE("metric definitions: the step of a line is a whole number that a double holds") {
  struct {
    const char* line;
    std::optional<std::int64_t> want;
  } const cases[] = {
      {"loss=2", std::nullopt},
      {"loss=2 step=0", 0},
      {"step=17 loss=2", 17},
      {"step=17 step=18", 17},
      {"step=1e3", 1000},
      {"step=100.0", 100},
      {"step=-0", 0},
      {"step=0.5 step=1", std::nullopt},
      {"step=-1", std::nullopt},
      {"step=9007199254740992", std::int64_t{1} << 53},
      {"step=9007199254740994", std::nullopt},
      {"step=1e300", std::nullopt},
      {"step=nan", std::nullopt},
  };
  const MetricDefinitions definitions =
      *MetricDefinitions::from({{"loss", "loss=(\\S+)"}, {"step", "step=(\\S+)"}});
  for (const auto& c : cases) {
    CAPTURE(c.line);
    CHECK(step_of(definitions.values_in(c.line)) == c.want);
  }
}

}  // namespace
}  // namespace muster::job
