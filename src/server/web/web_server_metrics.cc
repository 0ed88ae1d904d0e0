// The web page's view of a job's metrics: in as many buckets as its charts have pixels, or as CSV.

#include <algorithm>

#include "aws/api/inputs.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/metric_series.h"
#include "server/store/metric_reader.h"
#include "server/web/web_rules.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;
using store::MetricReader;
using store::MetricSecond;

/// Seconds and minutes with samples that one call looks at.
constexpr std::int64_t rows_max = 20'000'000;
constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t csv_piece_bytes = 256u << 10;

struct Wanted {
  std::string job;
  std::string name;
  ChartRange range{};
};

Result<Wanted> wanted_in(const Json& input) {
  Wanted wanted{api::text_of(input, "job"), api::text_of(input, "name")};
  if (wanted.name.empty() || wanted.name.size() > name_bytes_max)
    return fail(Errc::invalid_input, "a metric's name must have 1 to 255 bytes");
  wanted.range = TRY(chart_range(input, 2000, "2,000"));
  return wanted;
}

/// Fills the buckets from minutes where one lies in a bucket whole, else from its seconds: as
/// exact as from seconds alone, and 10,000,000 of them are read as 170,000 minutes.
Result<void> fill(MetricReader& reader, const Wanted& wanted, cloudwatch::MetricBuckets& buckets) {
  std::int64_t rows = 0;
  std::vector<std::int64_t> divided;
  const auto add = [&](const MetricSecond& second) {
    buckets.add(second);
    return ++rows <= rows_max;
  };
  const auto add_minute = [&](const MetricSecond& minute) {
    if (buckets.hold(minute.second, minute.second + store::metric_minute)) return add(minute);
    divided.push_back(minute.second);
    return true;
  };
  TRY(reader.read_minutes(wanted.job, wanted.name, wanted.range.from - store::metric_minute + 1,
                          wanted.range.to, add_minute));
  for (const std::int64_t minute : divided)
    TRY(reader.read(wanted.job, wanted.name, minute, minute + store::metric_minute, add));
  if (rows > rows_max)
    return fail(Errc::unsupported,
                "more than 20,000,000 rows of a metric; choose a shorter time range");
  return {};
}

Result<Json> buckets_of(MetricReader& reader, const Wanted& wanted) {
  const auto [from, to, most] = wanted.range;
  cloudwatch::MetricBuckets buckets(from, to, most);
  TRY(fill(reader, wanted, buckets));
  return Json{{"from", from}, {"width", buckets.width()}, {"buckets", chart_json(buckets, from)}};
}

Result<Json> spans_of(MetricReader& reader, const std::string& job) {
  Json list = Json::array();
  for (const store::MetricSpan& each : TRY(reader.spans(job)))
    list.push_back({{"name", each.name}, {"first", each.first}, {"last", each.last}});
  return Json{{"metrics", std::move(list)}};
}

/// Up to some lines of CSV from second `from` on, which is moved behind them; none: the end.
Result<std::string> csv_piece(const std::string& path, const std::string& job,
                              const std::string& name, std::int64_t& from) {
  MetricReader reader = TRY(MetricReader::open(path));
  std::string text;
  TRY(reader.read(job, name, from, second_max, [&](const MetricSecond& second) {
    text += cloudwatch::csv_line(job, name, second);
    from = second.second + 1;
    return text.size() < csv_piece_bytes;
  }));
  return text;
}

}  // namespace

Result<ChartRange> chart_range(const Json& input, std::int64_t buckets_max,
                               const std::string& most_as_text) {
  const ChartRange range{.from = api::integer_of(input, "from").value_or(-1),
                         .to = api::integer_of(input, "to").value_or(-1),
                         .buckets = api::integer_of(input, "buckets").value_or(0)};
  if (range.from < 0 || range.to > second_max || range.from >= range.to)
    return fail(Errc::invalid_input,
                "from and to must be seconds since 1970, and from must be before to");
  if (range.buckets < 1 || range.buckets > buckets_max)
    return fail(Errc::invalid_input, "the number of buckets must be from 1 to " + most_as_text);
  return range;
}

Json chart_json(const cloudwatch::MetricBuckets& buckets, std::int64_t from) {
  Json list = Json::array();
  for (const MetricSecond& each : buckets.buckets())
    if (each.count > 0)
      list.push_back({(each.second - from) / buckets.width(), each.least, each.most,
                      each.sum / static_cast<double>(each.count), each.count});
  return list;
}

Task<Result<Json, aws::Refusal>> WebServer::read_metrics(
    Call& call, std::function<Result<Json>(MetricReader&)> read) {
  const auto work = [this, &read, gone = call.exchange.gone()]() -> Result<Json> {
    const Turn turn(metric_readers_);
    MetricReader reader = TRY(MetricReader::open(options_.store, gone));
    return read(reader);
  };
  Result<Json> answer = co_await loop::in_thread(call.exchange.loop(), work);
  if (!answer) co_return api::invalid(answer.error().text);
  co_return *std::move(answer);
}

/// {"job"}: its metrics, after reading its log up to now, and the time span of each.
Task<Result<Json, aws::Refusal>> WebServer::metrics(Call& call) {
  const std::string job = api::text_of(call.input, "job");
  api::Request request{.service = "monitoring",
                       .operation = "ListMetrics",
                       .input = {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                                 {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", job}}}}},
                       .access_key = call.visit.key};
  const api::Answer caught_up = co_await ask(call.exchange, std::move(request));
  if (!caught_up) co_return caught_up.error();
  std::function<Result<Json>(MetricReader&)> read = [job](MetricReader& reader) {
    return spans_of(reader, job);
  };
  co_return co_await read_metrics(call, std::move(read));
}

/// {"job", "name", "from", "to", "buckets"}: [number, least, most, mean, count] of each bucket
/// that has samples.
Task<Result<Json, aws::Refusal>> WebServer::metric(Call& call) {
  return read_metrics(call, [&call](MetricReader& reader) -> Result<Json> {
    const Wanted wanted = TRY(wanted_in(call.input));
    return buckets_of(reader, wanted);
  });
}

/// `job` and `name` of the query: all seconds of a metric as CSV, in pieces as the browser takes
/// them.
Task<void> WebServer::download_metric(http::Exchange& exchange) {
  const std::string job = asked(exchange, "job");
  const std::string name = asked(exchange, "name");
  std::int64_t from = 0;
  const auto work = [&] { return csv_piece(options_.store, job, name, from); };
  Result<std::string> text = co_await loop::in_thread(exchange.loop(), work);
  http::Reply head = file_head("text/csv", file_name(job, ".csv"));
  if (!text || text->empty()) {
    head.status = 404;
    (void)co_await exchange.reply(std::move(head));
    co_return;
  }
  const Result<void> begun = co_await exchange.start(std::move(head));
  if (!begun) co_return;
  text->insert(0, cloudwatch::csv_head());
  while (!text->empty()) {
    const Result<void> sent = co_await exchange.write(*text);
    if (!sent) co_return;
    text = co_await loop::in_thread(exchange.loop(), work);
    if (!text) co_return exchange.finish_broken();
  }
}

}  // namespace muster::server
