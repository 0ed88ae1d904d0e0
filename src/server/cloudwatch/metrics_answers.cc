// CloudWatch's answers about the metrics that were scraped.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "aws/api/inputs.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/metrics.h"
#include "server/store/metric_reader.h"

namespace muster::cloudwatch {
namespace {

using store::MetricSecond;

constexpr const char* job_namespace = "/aws/sagemaker/TrainingJobs";
/// CloudWatch's own limit of an answer.
constexpr std::size_t datapoints_max = 1440;
/// CloudWatch's own limit of a page.
constexpr std::int64_t listed_max = 500;
/// Seconds and minutes with samples that one call looks at.
constexpr std::int64_t rows_max = 20'000'000;
constexpr int catch_up_turns = 16;
constexpr Duration catch_up_max = std::chrono::seconds(2);

std::optional<double> statistic_of(const MetricSecond& bucket, const std::string& statistic) {
  if (statistic == "Average") return bucket.sum / static_cast<double>(bucket.count);
  if (statistic == "Sum") return bucket.sum;
  if (statistic == "Minimum") return bucket.least;
  if (statistic == "Maximum") return bucket.most;
  if (statistic == "SampleCount") return static_cast<double>(bucket.count);
  return std::nullopt;
}

/// The job that a metric's dimensions name; empty if it is not about one.
std::string job_of(const Json& metric) {
  if (api::text_of(metric, "Namespace") != job_namespace) return {};
  if (const Json* dimensions = api::list_of(metric, "Dimensions"))
    for (const Json& each : *dimensions)
      if (api::text_of(each, "Name") == "TrainingJobName") return api::text_of(each, "Value");
  return {};
}

/// The jobs that a call asks about, each once.
std::set<std::string> jobs_of(const Json& input) {
  std::set<std::string> jobs = {job_of(input)};
  for (const Json& query : api::elements(input, "MetricDataQueries"))
    jobs.insert(job_of(api::inside(query, {"MetricStat", "Metric"})));
  jobs.erase("");
  return jobs;
}

Json metric_of(const std::string& job, const std::string& name) {
  return {{"Namespace", job_namespace},
          {"MetricName", name},
          {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", job}}}}};
}

/// Reads one call's series; counts the rows of all.
class Series {
 public:
  explicit Series(store::MetricReader& reader) : reader_(reader) {}

  /// The buckets of `period` seconds, counted from 1970, that have samples between `range`'s
  /// StartTime and EndTime. Minutes are read where a period has whole ones: 60 times fewer rows.
  Result<std::vector<MetricSecond>> buckets(const Json& metric, const Json& range,
                                            std::int64_t period);

 private:
  bool add(const MetricSecond& each);

  store::MetricReader& reader_;
  std::int64_t rows_ = 0;
  std::int64_t width_ = 1;
  std::vector<MetricSecond> found_;
};

bool Series::add(const MetricSecond& each) {
  const std::int64_t second = each.second - each.second % width_;
  if (found_.empty() || found_.back().second != second) found_.push_back({second, 0, 0, 0, 0});
  found_.back().add(each);
  return ++rows_ <= rows_max;
}

Result<std::vector<MetricSecond>> Series::buckets(const Json& metric, const Json& range,
                                                  std::int64_t period) {
  const std::string job = job_of(metric);
  if (job.empty()) return std::vector<MetricSecond>();
  constexpr std::int64_t minute = store::metric_minute;
  const std::string name = api::text_of(metric, "MetricName");
  const UnixMillis start = api::time_of(range, "StartTime").value_or(UnixMillis(0));
  const UnixMillis end = api::time_of(range, "EndTime").value_or(UnixMillis::max());
  const std::int64_t from = std::chrono::floor<std::chrono::seconds>(start).count();
  const std::int64_t to = std::chrono::ceil<std::chrono::seconds>(end).count();
  width_ = std::max<std::int64_t>(period, 1);
  found_.clear();
  const auto take = [this](const MetricSecond& each) { return add(each); };
  const std::int64_t first = (from + minute - 1) / minute * minute;
  const std::int64_t last = to / minute * minute;
  if (width_ % minute != 0 || first >= last) {
    TRY(reader_.read(job, name, from, to, take));
  } else {
    TRY(reader_.read(job, name, from, first, take));
    TRY(reader_.read_minutes(job, name, first, last, take));
    TRY(reader_.read(job, name, last, to, take));
  }
  if (rows_ > rows_max) return fail(Errc::unsupported, "");
  return std::move(found_);
}

aws::Refusal refusal(const Error& error) {
  if (error.code != Errc::unsupported) return api::internal_failure(error);
  return {"InvalidParameterCombination",
          "The metrics have more than 20,000,000 rows in this time range. Use a shorter time "
          "range."};
}

api::Answer get_statistics(Series& series, const Json& input) {
  const Result<std::vector<MetricSecond>> found =
      series.buckets(input, input, api::integer_of(input, "Period").value_or(60));
  if (!found) return refusal(found.error());
  Json points = datapoints(*found, api::texts_of(input, "Statistics"));
  if (points.size() > datapoints_max)
    return aws::Refusal{
        "InvalidParameterCombination",
        "You have requested up to " + std::to_string(points.size()) +
            " datapoints, which exceeds the limit of 1,440. You may reduce the "
            "datapoints requested by increasing Period, or decreasing the time range."};
  return Json{{"Label", api::text_of(input, "MetricName")}, {"Datapoints", std::move(points)}};
}

api::Answer get_data(Series& series, const Json& input) {
  Json results = Json::array();
  const Json* queries = api::list_of(input, "MetricDataQueries");
  for (const Json& query : queries == nullptr ? Json::array() : *queries) {
    const Json* wanted = api::object_of(query, "MetricStat");
    const Json* metric = wanted == nullptr ? nullptr : api::object_of(*wanted, "Metric");
    if (metric == nullptr)
      return aws::Refusal{"ValidationError", "muster does not support metric expressions"};
    const Result<std::vector<MetricSecond>> found =
        series.buckets(*metric, input, api::integer_of(*wanted, "Period").value_or(60));
    if (!found) return refusal(found.error());
    const std::string statistic = api::text_of(*wanted, "Stat");
    Json times = Json::array();
    Json values = Json::array();
    for (const MetricSecond& bucket : *found) {
      const std::optional<double> value = statistic_of(bucket, statistic);
      if (!value)
        return aws::Refusal{"ValidationError",
                            "muster does not support the statistic " + statistic};
      times.push_back(bucket.second);
      values.push_back(*value);
    }
    if (api::text_of(input, "ScanBy") != "TimestampAscending") {
      std::reverse(times.begin(), times.end());
      std::reverse(values.begin(), values.end());
    }
    const std::string label = api::text_of(query, "Label");
    results.push_back({{"Id", api::text_of(query, "Id")},
                       {"Label", label.empty() ? api::text_of(*metric, "MetricName") : label},
                       {"Timestamps", std::move(times)},
                       {"Values", std::move(values)},
                       {"StatusCode", "Complete"}});
  }
  return Json{{"MetricDataResults", std::move(results)}, {"Messages", Json::array()}};
}

}  // namespace

bool is_series(const std::string& operation) {
  return operation == "GetMetricStatistics" || operation == "GetMetricData";
}

Json datapoints(const std::vector<MetricSecond>& buckets,
                const std::vector<std::string>& statistics) {
  Json points = Json::array();
  for (const MetricSecond& bucket : buckets) {
    Json point{{"Timestamp", bucket.second}, {"Unit", "None"}};
    for (const std::string& statistic : statistics)
      if (const std::optional<double> value = statistic_of(bucket, statistic))
        point[statistic] = *value;
    points.push_back(std::move(point));
  }
  return points;
}

loop::Task<api::Answer> Metrics::read(api::Request request) {
  const auto answer = std::make_shared<api::Answer>(Json());
  std::function<Result<void>()> work = [path = store_.path(), request, answer]() -> Result<void> {
    store::MetricReader reader = TRY(store::MetricReader::open(path, request.gone));
    Series series(reader);
    *answer = request.operation == "GetMetricData" ? get_data(series, request.input)
                                                   : get_statistics(series, request.input);
    return {};
  };
  const Result<loop::Turns::Turn> turn = co_await reads_.take(loop_, request.access_key);
  if (!turn) co_return aws::Refusal{"ThrottlingException", turn.error().text};
  const Result<void> done = co_await loop::in_thread(loop_, std::move(work));
  if (!done) co_return api::internal_failure(done.error());
  co_return *answer;
}

loop::Task<> Metrics::catch_up_one(std::string job, std::shared_ptr<Catching> catching) {
  Result<bool> more = true;
  for (int turn = 0; turn < catch_up_turns && more && *more; ++turn) more = co_await scrape(job);
  catching_.erase(job);
  catching->result = more ? Result<void>() : more.error();
  catching->done.notify();
}

loop::Task<Result<void>> Metrics::catch_up(Json input) {
  const TimePoint deadline = Clock::now() + catch_up_max;
  for (const std::string& job : jobs_of(input)) {
    std::shared_ptr<Catching>& under_way = catching_[job];
    if (!under_way) {
      under_way = std::make_shared<Catching>(loop_);
      tasks_.start(catch_up_one(job, under_way));
    }
    const std::shared_ptr<Catching> catching = under_way;
    bool in_time = true;
    while (!catching->result && in_time) in_time = co_await catching->done.wait_until(deadline);
    if (catching->result && !*catching->result) co_return catching->result->error();
  }
  co_return Result<void>();
}

api::Answer Metrics::list(const Json& input) {
  Json metrics = Json::array();
  std::string job = job_of(input);
  if (job.empty()) return Json{{"Metrics", metrics}};
  const std::string token = api::text_of(input, "NextToken");
  const std::optional<Json> place = token.empty() ? Json("") : api::place_of(token);
  if (!place || !place->is_string())
    return aws::Refusal{"InvalidNextToken", "The NextToken does not belong to this request."};
  const std::string name = api::text_of(input, "MetricName");
  const Result<std::vector<store::MetricSample>> samples =
      store_.final_metrics(job, place->get<std::string>(), listed_max + 1);
  if (!samples) return api::internal_failure(samples.error());
  Json answer;
  for (const store::MetricSample& each : *samples) {
    if (metrics.size() == listed_max) {
      answer["NextToken"] = api::page_token(metrics.back().at("MetricName"));
      break;
    }
    metrics.push_back(metric_of(job, each.name));
  }
  if (!name.empty()) {
    Json own = Json::array();
    for (Json& each : metrics)
      if (each.at("MetricName") == name) own.push_back(std::move(each));
    metrics = std::move(own);
  }
  answer["Metrics"] = std::move(metrics);
  return answer;
}

}  // namespace muster::cloudwatch
