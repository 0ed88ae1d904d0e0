#include "server/cloudwatch/metrics.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "job/outcome/lines.h"
#include "net/loop/testing.h"
#include "server/cloudwatch/metric_scraper.h"
#include "server/test_journals.h"

namespace muster::cloudwatch {
namespace {

UnixMillis at(std::int64_t ms) {
  return UnixMillis(ms);
}

Json request_with(const Json& definitions) {
  return {{"TrainingJobName", "j"},
          {"AlgorithmSpecification", {{"MetricDefinitions", definitions}}},
          {"ResourceConfig", {{"InstanceType", "local"}, {"InstanceCount", 1}}}};
}

TEST_CASE("metrics: datapoints are buckets with the statistics that are asked for") {
  const std::vector<store::MetricSecond> buckets = {{60, 7, 1, 4, 3}, {120, 7, 7, 7, 1}};
  CHECK(to_text(datapoints(buckets, {"Average", "Maximum", "SampleCount"})) ==
        R"([{"Average":2.3333333333333335,"Maximum":4.0,"SampleCount":3.0,"Timestamp":60,)"
        R"("Unit":"None"},{"Average":7.0,"Maximum":7.0,"SampleCount":1.0,"Timestamp":120,)"
        R"("Unit":"None"}])");
  CHECK(datapoints({}, {"Average"}).empty());
}

TEST_CASE("metrics: work is allowed by the log's own clock") {
  constexpr std::uint64_t second = MetricAllowance::a_second;
  struct {
    int ms;
    std::uint64_t work;
    bool want;
  } const steps[] = {
      {1'000'000, MetricAllowance::saved_max + 1, false},
      {1'000'000, MetricAllowance::saved_max, true},
      {1'000'000, 1, false},
      {1'000'000, 0, true},
      {1'000'500, second / 2, true},
      {1'000'500, second / 2, false},
      {1'000'400, second / 2, false},  // Times that go back give nothing.
      {1'001'000, second / 2, true},
      {1'003'000, second + second, true},
      {90'000'000, MetricAllowance::saved_max + 1, false},
      {90'000'000, MetricAllowance::saved_max, true},
  };
  MetricAllowance allowance;
  for (const auto& step : steps) {
    CAPTURE(step.ms);
    CAPTURE(step.work);
    CHECK(allowance.take(at(step.ms), step.work) == step.want);
  }
}

/// A job's log: `lines`, one a second.
std::string journal_of(const std::vector<std::string>& lines) {
  std::string journal;
  int seq = 0;
  for (const std::string& line : lines) {
    ++seq;
    job::append_record(journal, static_cast<std::uint64_t>(seq), at(seq * 1000),
                       job::Message::lines, encode(job::Lines{.rank = 0, .bytes = line + "\n"}));
  }
  return journal;
}

TEST_CASE(
    "metrics: lines whose work is too much are left out and counted, the others are in order") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  const std::string path = folder + "/journal";
  std::vector<std::string> lines;
  for (int i = 0; i < 40; ++i) {
    lines.push_back("loss=" + std::to_string(i));
    std::string hostile(60'000, 'a');  // Work of 16 s, were it tried.
    for (std::size_t at = 0; at < hostile.size(); at += 3) hostile[at] = i % 2 == 0 ? 'b' : ' ';
    lines.push_back(hostile);
  }
  REQUIRE(write_file(path, journal_of(lines)));
  std::vector<job::MetricDefinition> metrics = {{"loss", "loss=([0-9]+)"}};
  for (int i = 0; i < 39; ++i) metrics.push_back({"slow", "((a|b)*[ab .=01]{900})q"});
  const MetricDefinitions definitions = *MetricDefinitions::from(metrics);
  MetricScraper scraper;
  std::vector<store::MetricSample> samples;
  std::uint64_t left_out = 0, from = 0;
  for (bool more = true; more;) {
    const Result<MetricScraper::Scraped> scraped =
        scraper.scrape(definitions, {{"algo-1", path, from}}, true);
    REQUIRE(scraped);
    for (const MetricScraper::Part& part : scraped->parts) {
      samples.insert(samples.end(), part.samples.begin(), part.samples.end());
      from = part.read_to;
    }
    left_out += scraped->left_out;
    more = scraped->more;
  }
  CHECK(from == 80);
  CHECK(left_out == 40);
  REQUIRE(samples.size() == 40);
  for (std::size_t i = 0; i < samples.size(); ++i)
    CHECK(samples[i] == store::MetricSample{"loss", at(1000 + 2000 * static_cast<int>(i)),
                                            static_cast<double>(i)});
  std::filesystem::remove_all(folder);
}

TEST_CASE("metrics: values with steps are read in parts that are stored quickly") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  std::string line = "step=7";
  for (int i = 0; i < 16; ++i) line += " loss=1";
  REQUIRE(write_file(folder + "/journal", journal_of(std::vector<std::string>(2000, line))));
  const MetricDefinitions definitions =
      *MetricDefinitions::from({{"loss", "loss=(\\d)"}, {"step", "step=(\\d)"}});
  MetricScraper scraper;
  std::vector<std::uint64_t> ends;
  for (bool more = true; more;) {
    const std::uint64_t from = ends.empty() ? 0 : ends.back();
    const Result<MetricScraper::Scraped> scraped =
        scraper.scrape(definitions, {{"algo-1", folder + "/journal", from}}, true);
    REQUIRE(scraped);
    ends.push_back(scraped->parts.at(0).read_to);
    more = scraped->more;
  }
  CHECK(ends == std::vector<std::uint64_t>{250, 500, 750, 1000, 1250, 1500, 1750, 2000});
  std::filesystem::remove_all(folder);
}

TEST_CASE("metrics: the metric step is the step of the other metrics in its line") {
  const MetricDefinitions definitions = *MetricDefinitions::from(
      {{"loss", "loss=(\\S+)"}, {"step", "step=(\\S+)"}, {"acc", "acc=(\\S+)"}});
  const auto in_line = [&](const char* text) {
    return samples_in(definitions, {.time = at(5), .message = text, .attempt = 3});
  };
  using Samples = std::vector<store::MetricSample>;
  CHECK(in_line("loss=2 step=7 acc=1") == Samples{{"loss", at(5), 2, 7, 3},
                                                  {"step", at(5), 7, std::nullopt, 3},
                                                  {"acc", at(5), 1, 7, 3}});
  CHECK(in_line("loss=2") == Samples{{"loss", at(5), 2, std::nullopt, 3}});
  CHECK(in_line("loss=2 step=0.5") ==
        Samples{{"loss", at(5), 2, std::nullopt, 3}, {"step", at(5), 0.5, std::nullopt, 3}});
}

api::Answer read(loop::Loop& loop, Metrics& metrics, const std::string& operation,
                 const Json& input) {
  api::Answer answer = Json();
  const auto body = [](Metrics& of, api::Request request, api::Answer& into) -> loop::Task<> {
    into = co_await of.read(std::move(request));
  };
  api::Request request{
      .service = "monitoring", .operation = operation, .input = input, .access_key = "AK"};
  loop::run_task(loop, body(metrics, std::move(request), answer));
  return answer;
}

TEST_CASE("metrics: a series is read from minutes and, at its ends, from seconds") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  {
    store::Store store = *store::Store::open(folder + "/store.db");
    loop::Loop loop;
    const server::TestJournals journals(folder);
    Metrics metrics(loop, store, journals.files);
    REQUIRE(store.submit({"j", "arn", to_text(request_with(Json::array())), {}, at(1), ""}));
    std::vector<store::MetricSample> samples;
    for (int i = 0; i < 600; ++i) samples.push_back({"loss", at(i * 1000), 1});
    REQUIRE(store.put_metrics("j", "algo-1", samples, 1));
    struct {
      int from, to, period;
      std::string want;  ///< Second and count of each bucket.
    } const cases[] = {
        {0, 600, 300, "0:300 300:300 "},
        {30, 150, 60, "0:30 60:60 120:30 "},
        {30, 50, 60, "0:20 "},
        {59, 61, 60, "0:1 60:1 "},
        {118, 122, 1, "118:1 119:1 120:1 121:1 "},
        {700, 800, 60, ""},
    };
    for (const auto& c : cases) {
      CAPTURE(c.want);
      const api::Answer answer =
          read(loop, metrics, "GetMetricStatistics",
               {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                {"MetricName", "loss"},
                {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", "j"}}}},
                {"StartTime", c.from},
                {"EndTime", c.to},
                {"Period", c.period},
                {"Statistics", {"SampleCount"}}});
      REQUIRE(answer);
      std::string got;
      for (const Json& point : answer->at("Datapoints"))
        got += std::to_string(point.at("Timestamp").get<int>()) + ":" +
               std::to_string(static_cast<int>(point.at("SampleCount").get<double>())) + " ";
      CHECK(got == c.want);
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("metrics: a job's log is scraped once, and asked for by TrainingJobAnalytics' calls") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  {
    store::Store store = *store::Store::open(folder + "/store.db");
    loop::Loop loop;
    const server::TestJournals journals(folder);
    Metrics metrics(loop, store, journals.files);
    const auto caught_up = [&](const Json& input) {
      loop::run_task(loop, [](Metrics& caught, Json asked) -> loop::Task<> {
        const Result<void> done = co_await caught.catch_up(std::move(asked));
        CHECK(done);
      }(metrics, input));
    };
    const Json definitions = Json::array({{{"Name", "loss"}, {"Regex", "loss=([0-9.]+)"}}});
    REQUIRE(store.submit({"j", "arn", to_text(request_with(definitions)), {}, at(1), ""}));
    std::string journal;
    const auto say = [&](std::uint64_t seq, int ms, const std::string& text) {
      job::append_record(journal, seq, at(ms), job::Message::lines,
                         encode(job::Lines{.rank = 0, .bytes = text}));
      REQUIRE(write_file(folder + "/j-algo-1", journal));
    };
    say(1, 61000, "loss=4\nloss=2\n");
    const auto ask = [&] {
      const Json input = {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                          {"MetricName", "loss"},
                          {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", "j"}}}},
                          {"StartTime", 0},
                          {"EndTime", 1000.5},
                          {"Period", 60},
                          {"Statistics", {"Average"}}};
      caught_up(input);
      const api::Answer answer = read(loop, metrics, "GetMetricStatistics", input);
      return to_text(*answer);
    };
    const std::string first = R"({"Average":3.0,"Timestamp":60,"Unit":"None"})";
    CHECK(ask() == R"({"Datapoints":[)" + first + R"(],"Label":"loss"})");
    CHECK(ask() == R"({"Datapoints":[)" + first + R"(],"Label":"loss"})");
    say(2, 130000, "loss=1\n");
    CHECK(ask() == R"({"Datapoints":[)" + first +
                       R"(,{"Average":1.0,"Timestamp":120,"Unit":"None"}],"Label":"loss"})");
    CHECK(*store.final_metrics("j") == std::vector<store::MetricSample>{{"loss", at(130000), 1}});

    const api::Answer data =
        read(loop, metrics, "GetMetricData",
             Json::parse(R"({"StartTime": 0, "EndTime": 1000, "ScanBy": "TimestampAscending",
          "MetricDataQueries": [{"Id": "q", "MetricStat": {"Period": 60, "Stat": "Maximum",
            "Metric": {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "loss",
              "Dimensions": [{"Name": "TrainingJobName", "Value": "j"}]}}}]})"));
    CHECK(to_text(*data) ==
          R"({"Messages":[],"MetricDataResults":[{"Id":"q","Label":"loss","StatusCode":)"
          R"("Complete","Timestamps":[60,120],"Values":[4.0,1.0]}]})");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("metrics: lists of names are paged, each page from where the one before ended") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  {
    store::Store store = *store::Store::open(folder + "/store.db");
    loop::Loop loop;
    const server::TestJournals journals(folder);
    Metrics metrics(loop, store, journals.files);
    REQUIRE(store.submit({"j", "arn", to_text(request_with(Json::array())), {}, at(1), ""}));
    std::vector<store::MetricSample> samples;
    for (int i = 0; i < 1234; ++i) samples.push_back({"m" + std::to_string(10'000 + i), at(1), 1});
    REQUIRE(store.put_metrics("j", "algo-1", samples, 1));
    Json input = {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                  {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", "j"}}}}};
    std::vector<std::string> names;
    std::string sizes;
    while (true) {
      const Json page = *metrics.operate("ListMetrics", input);
      sizes += std::to_string(page.at("Metrics").size()) + " ";
      for (const Json& each : page.at("Metrics")) names.push_back(each.at("MetricName"));
      if (!page.contains("NextToken")) break;
      input["NextToken"] = page.at("NextToken");
    }
    CHECK(sizes == "500 500 234 ");
    REQUIRE(names.size() == samples.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == samples[i].name);
    input["NextToken"] = "x";
    CHECK(metrics.operate("ListMetrics", input).error().code == "InvalidNextToken");
    // The metrics of a description are limited, too.
    CHECK(store.final_metrics("j")->size() == 1000);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::cloudwatch
