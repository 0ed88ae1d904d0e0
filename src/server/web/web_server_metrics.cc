// The web page's view of a job's metrics: in one bucket per pixel of a chart, or as CSV.

#include <algorithm>

#include "aws/api/inputs.h"
#include "job/metric_definitions.h"
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

/// Limit of the seconds and minutes with samples that one call reads.
constexpr std::int64_t rows_max = 20'000'000;
constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t csv_piece_bytes = 256u << 10;

struct Wanted {
  std::string job;
  std::string name;
  bool by_step = false;
  ChartRange range{};
};

/// The value of a call's "by".
Result<bool> is_by_step(const std::string& by) {
  if (by == "step") return true;
  if (by.empty() || by == "time") return false;
  return fail(Errc::invalid_input, "metrics are shown by time or by step");
}

Result<Wanted> wanted_in(const Json& input) {
  Wanted wanted{api::text_of(input, "job"), api::text_of(input, "name")};
  wanted.by_step = TRY(is_by_step(api::text_of(input, "by")));
  if (wanted.name.empty() || wanted.name.size() > name_bytes_max)
    return fail(Errc::invalid_input, "a metric's name must have 1 to 255 bytes");
  wanted.range = TRY(chart_range(input, 2000, "2,000", wanted.by_step));
  return wanted;
}

Error too_many_rows() {
  return fail(Errc::unsupported, "more than 20,000,000 rows of a metric; choose a shorter range");
}

/// Fills the buckets from minutes that are completely inside a bucket, and from seconds otherwise.
/// The result is as exact as from seconds alone, but 10,000,000 seconds are read as 170,000
/// minutes.
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
  if (rows > rows_max) return too_many_rows();
  return {};
}

Result<Json> steps_of(MetricReader& reader, const Wanted& wanted) {
  const cloudwatch::StepChart chart =
      cloudwatch::step_chart(wanted.range.from, wanted.range.to, wanted.range.buckets);
  cloudwatch::MetricBuckets buckets(chart.from, chart.to, chart.buckets);
  std::int64_t rows = 0;
  TRY(reader.read_steps(wanted.job, wanted.name, chart.width, chart.from, chart.to,
                        [&](const MetricSecond& range) {
                          buckets.add(range);
                          return ++rows <= rows_max;
                        }));
  if (rows > rows_max) return too_many_rows();
  return Json{{"from", chart.from},
              {"width", buckets.width()},
              {"buckets", chart_json(buckets, chart.from)}};
}

Result<Json> buckets_of(MetricReader& reader, const Wanted& wanted) {
  if (wanted.by_step) return steps_of(reader, wanted);
  const auto [from, to, most] = wanted.range;
  cloudwatch::MetricBuckets buckets(from, to, most);
  TRY(fill(reader, wanted, buckets));
  return Json{{"from", from}, {"width", buckets.width()}, {"buckets", chart_json(buckets, from)}};
}

Result<Json> spans_of(MetricReader& reader, const std::string& job) {
  Json list = Json::array();
  for (const store::MetricSpan& each : TRY(reader.spans(job))) {
    Json& metric =
        list.emplace_back(Json{{"name", each.name}, {"first", each.first}, {"last", each.last}});
    if (each.first_step >= 0) metric["steps"] = {each.first_step, each.last_step};
  }
  return Json{{"metrics", std::move(list)}};
}

}  // namespace

Result<ChartRange> chart_range(const Json& input, std::int64_t buckets_max,
                               const std::string& most_as_text, bool by_step) {
  const ChartRange range{.from = api::integer_of(input, "from").value_or(-1),
                         .to = api::integer_of(input, "to").value_or(-1),
                         .buckets = api::integer_of(input, "buckets").value_or(0)};
  const std::int64_t last = by_step ? job::step_max + 1 : second_max;
  if (range.from < 0 || range.to > last || range.from >= range.to)
    return fail(Errc::invalid_input,
                by_step ? "from and to must be steps, and from must be before to"
                        : "from and to must be seconds since 1970, and from must be before to");
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
    MetricReader reader = TRY(MetricReader::open(options_.store, gone));
    return read(reader);
  };
  Result<Json> answer = co_await in_turn(metric_reads_, call.exchange, call.visit.key, work);
  if (!answer && answer.error().code == Errc::denied) co_return unread(answer.error());
  if (!answer) co_return api::invalid(answer.error().text);
  co_return *std::move(answer);
}

/// {"job"}: its metrics, after reading its current log, with the range of times and of steps of
/// each.
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

/// {"job", "name", "from", "to", "buckets", "by"}: [number, least, most, mean, count] of each
/// bucket that has samples. By "step", "from" may be earlier than the call's.
Task<Result<Json, aws::Refusal>> WebServer::metric(Call& call) {
  return read_metrics(call, [&call](MetricReader& reader) -> Result<Json> {
    const Wanted wanted = TRY(wanted_in(call.input));
    return buckets_of(reader, wanted);
  });
}

/// Sends a file in pieces, at the browser's pace. If the first piece is empty, the file does not
/// exist.
Task<void> WebServer::send_csv(http::Exchange& exchange, std::string key, std::string name,
                               CsvPiece piece) {
  const auto work = [&piece, gone = exchange.gone()] { return piece(gone); };
  Result<std::string> text = co_await in_turn(metric_reads_, exchange, key, work);
  http::Reply reply = file_head("text/csv", name);
  if (!text || text->empty()) {
    reply.status = !text && text.error().code == Errc::denied ? 503 : 404;
    (void)co_await exchange.reply(std::move(reply));
    co_return;
  }
  const Result<void> begun = co_await exchange.start(std::move(reply));
  if (!begun) co_return;
  while (!text->empty()) {
    const Result<void> sent = co_await exchange.write(*text);
    if (!sent) co_return;
    text = co_await in_turn(metric_reads_, exchange, key, work);
    if (!text) co_return exchange.finish_broken();
  }
}

/// A file about a job, of which one reader reads each piece.
Task<void> WebServer::download_csv(http::Exchange& exchange, std::string key,
                                   std::function<Result<std::string>(MetricReader&)> piece) {
  CsvPiece read = [path = options_.store, piece = std::move(piece)](
                      const std::function<bool()>& gone) -> Result<std::string> {
    MetricReader reader = TRY(MetricReader::open(path, gone));
    return piece(reader);
  };
  std::string name = file_name(asked(exchange, "job"), ".csv");
  return send_csv(exchange, std::move(key), std::move(name), std::move(read));
}

/// `job`, `name` and `by` of the query: all seconds or steps of a metric as CSV.
Task<void> WebServer::download_metric(http::Exchange& exchange, std::string key) {
  std::function<Result<std::string>(MetricReader&)> piece =
      [of = asked(exchange, "job"), name = asked(exchange, "name"),
       by_step = asked(exchange, "by") == "step",
       from = std::int64_t{0}](MetricReader& reader) mutable -> Result<std::string> {
    std::string text, head = from == 0 ? cloudwatch::csv_head(by_step) : std::string();
    const auto take = [&](const MetricSecond& second) {
      text += cloudwatch::csv_line(of, name, second);
      from = second.second + 1;
      return text.size() < csv_piece_bytes;
    };
    if (by_step)
      TRY(reader.read_steps(of, name, 1, from, job::step_max + 1, take));
    else
      TRY(reader.read(of, name, from, second_max, take));
    return text.empty() ? text : head + text;
  };
  return download_csv(exchange, std::move(key), std::move(piece));
}

}  // namespace muster::server
