#include "server/metrics.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "job/lines.h"

namespace muster::server {
namespace {

UnixMillis at(std::int64_t ms) {
  return UnixMillis(ms);
}

Json request_with(const Json& definitions) {
  return {{"AlgorithmSpecification", {{"MetricDefinitions", definitions}}},
          {"ResourceConfig", {{"InstanceCount", 1}}}};
}

std::string scraped(const char* regex, const std::string& line) {
  const MetricDefinitions definitions =
      *MetricDefinitions::from(request_with(Json::array({{{"Name", "m"}, {"Regex", regex}}})));
  std::string all;
  for (const MetricSample& each : definitions.scrape({at(1), line}))
    all += Json(each.value).dump() + " ";
  return all;
}

TEST_CASE("metrics: expressions find numbers in lines") {
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

TEST_CASE("metrics: what RE2 does not know is refused with its reason") {
  for (const char* regex : {"(?<=a)b", "(", "(a)\\1", "a{5000}"}) {
    const Result<MetricDefinitions> got =
        MetricDefinitions::from(request_with(Json::array({{{"Name", "m"}, {"Regex", regex}}})));
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.find("\"m\"") != std::string::npos);
  }
  CHECK(MetricDefinitions::from(Json::object())->empty());
}

TEST_CASE("metrics: datapoints are buckets of the period") {
  const std::vector<MetricSecond> samples = {
      {60, 1, 1, 1, 1}, {119, 6, 2, 4, 2}, {120, 7, 7, 7, 1}};
  CHECK(to_text(datapoints(samples, 60, {"Average", "Maximum", "SampleCount"})) ==
        R"([{"Average":2.3333333333333335,"Maximum":4.0,"SampleCount":3.0,"Timestamp":60,)"
        R"("Unit":"None"},{"Average":7.0,"Maximum":7.0,"SampleCount":1.0,"Timestamp":120,)"
        R"("Unit":"None"}])");
  CHECK(datapoints({}, 60, {"Average"}).empty());
}

TEST_CASE("metrics: a job's log is scraped once, and asked for by TrainingJobAnalytics' calls") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  {
    Store store = *Store::open(folder + "/store.db");
    Logs logs(store, Realm{},
              [&](const std::string&, const std::string& host) { return folder + "/" + host; });
    Metrics metrics(store, logs);
    const Json definitions = Json::array({{{"Name", "loss"}, {"Regex", "loss=([0-9.]+)"}}});
    REQUIRE(store.submit({"j", "arn", to_text(request_with(definitions)), {}, at(1), ""}));
    std::string journal;
    const auto say = [&](std::uint64_t seq, int ms, const std::string& text) {
      job::append_record(journal, seq, at(ms), job::Message::lines,
                         encode(job::Lines{.rank = 0, .bytes = text}));
      REQUIRE(write_file(folder + "/algo-1", journal));
    };
    say(1, 61000, "loss=4\nloss=2\n");
    const auto ask = [&] {
      const Answer answer = metrics.operate(
          "GetMetricStatistics", {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                                  {"MetricName", "loss"},
                                  {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", "j"}}}},
                                  {"StartTime", 0},
                                  {"EndTime", 1000.5},
                                  {"Period", 60},
                                  {"Statistics", {"Average"}}});
      return to_text(std::get<Json>(answer));
    };
    const std::string first = R"({"Average":3.0,"Timestamp":60,"Unit":"None"})";
    CHECK(ask() == R"({"Datapoints":[)" + first + R"(],"Label":"loss"})");
    CHECK(ask() == R"({"Datapoints":[)" + first + R"(],"Label":"loss"})");
    say(2, 130000, "loss=1\n");
    CHECK(ask() == R"({"Datapoints":[)" + first +
                       R"(,{"Average":1.0,"Timestamp":120,"Unit":"None"}],"Label":"loss"})");
    CHECK(*store.final_metrics("j") == std::vector<MetricSample>{{"loss", at(130000), 1}});

    const Answer data = metrics.operate(
        "GetMetricData",
        Json::parse(R"({"StartTime": 0, "EndTime": 1000, "ScanBy": "TimestampAscending",
          "MetricDataQueries": [{"Id": "q", "MetricStat": {"Period": 60, "Stat": "Maximum",
            "Metric": {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "loss",
              "Dimensions": [{"Name": "TrainingJobName", "Value": "j"}]}}}]})"));
    CHECK(to_text(std::get<Json>(data)) ==
          R"({"Messages":[],"MetricDataResults":[{"Id":"q","Label":"loss","StatusCode":)"
          R"("Complete","Timestamps":[60,120],"Values":[4.0,1.0]}]})");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::server
