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

}  // namespace
}  // namespace muster::job
