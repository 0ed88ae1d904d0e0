// The web page's view of a job's metrics: in as many buckets as its charts have pixels, or as CSV.

#include <algorithm>

#include "api/inputs.h"
#include "logs/metric_series.h"
#include "loop/worker.h"
#include "server/web_server_call.h"
#include "store/metric_reader.h"
#include "web/web_rules.h"

namespace muster::server {
namespace {

using loop::Task;
using store::MetricReader;
using store::MetricSecond;

constexpr std::int64_t buckets_max = 2000;
/// Beyond any date; sums of two of them are numbers still.
constexpr std::int64_t second_max = std::int64_t{1} << 40;
/// Seconds and minutes with samples that one call looks at.
constexpr std::int64_t rows_max = 20'000'000;
constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t csv_piece_bytes = 256u << 10;

struct Wanted {
  std::string job;
  std::string name;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t buckets = 0;
};

/// Why not; empty: it may be read.
std::string strangeness(const Wanted& wanted) {
  if (wanted.name.empty() || wanted.name.size() > name_bytes_max)
    return "a metric's name has 1 to 255 bytes";
  if (wanted.from < 0 || wanted.to > second_max || wanted.from >= wanted.to)
    return "from and to are seconds since 1970, the first before the other";
  if (wanted.buckets < 1 || wanted.buckets > buckets_max) return "1 to 2,000 buckets are made";
  return {};
}

/// Fills the buckets from minutes where one lies in a bucket whole, else from its seconds: as
/// exact as from seconds alone, and 10,000,000 of them are read as 170,000 minutes.
Result<void> fill(MetricReader& reader, const Wanted& wanted, logs::MetricBuckets& buckets) {
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
  TRY(reader.read_minutes(wanted.job, wanted.name, wanted.from - store::metric_minute + 1,
                          wanted.to, add_minute));
  for (const std::int64_t minute : divided)
    TRY(reader.read(wanted.job, wanted.name, minute, minute + store::metric_minute, add));
  if (rows > rows_max)
    return fail(Errc::unsupported,
                "more than 20,000,000 rows of a metric; choose a shorter time range");
  return {};
}

Result<Json> buckets_of(const std::string& path, const Wanted& wanted) {
  MetricReader reader = TRY(MetricReader::open(path));
  logs::MetricBuckets buckets(wanted.from, wanted.to, wanted.buckets);
  TRY(fill(reader, wanted, buckets));
  Json list = Json::array();
  for (const MetricSecond& each : buckets.buckets()) {
    if (each.count == 0) continue;
    list.push_back({(each.second - wanted.from) / buckets.width(), each.least, each.most,
                    each.sum / static_cast<double>(each.count), each.count});
  }
  return Json{{"from", wanted.from}, {"width", buckets.width()}, {"buckets", std::move(list)}};
}

Result<Json> spans_of(const std::string& path, const std::string& job) {
  MetricReader reader = TRY(MetricReader::open(path));
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
    text += logs::csv_line(job, name, second);
    from = second.second + 1;
    return text.size() < csv_piece_bytes;
  }));
  return text;
}

}  // namespace

/// {"job"}: its metrics, after what its log has told until now, and the time that each covers.
Task<Result<Json, aws::Refusal>> WebServer::metrics(Call& call) {
  const std::string job = api::text_of(call.input, "job");
  api::Request request{.service = "monitoring",
                       .operation = "ListMetrics",
                       .input = {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                                 {"Dimensions", {{{"Name", "TrainingJobName"}, {"Value", job}}}}},
                       .access_key = call.visit.key};
  const api::Answer caught_up = co_await ask(call.exchange, std::move(request));
  if (!caught_up) co_return caught_up.error();
  const auto answer = std::make_shared<Json>();
  std::function<Result<void>()> work = [path = options_.store, job, answer]() -> Result<void> {
    *answer = TRY(spans_of(path, job));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
  if (!done) co_return bad_call(done.error().text);
  co_return std::move(*answer);
}

/// {"job", "name", "from", "to", "buckets"}: [number, least, most, mean, count] of each bucket
/// that has samples.
Task<Result<Json, aws::Refusal>> WebServer::metric(Call& call) {
  Wanted wanted{.job = api::text_of(call.input, "job"),
                .name = api::text_of(call.input, "name"),
                .from = api::integer_of(call.input, "from").value_or(-1),
                .to = api::integer_of(call.input, "to").value_or(-1),
                .buckets = api::integer_of(call.input, "buckets").value_or(0)};
  if (std::string strange = strangeness(wanted); !strange.empty())
    co_return bad_call(std::move(strange));
  const auto answer = std::make_shared<Json>();
  std::function<Result<void>()> work = [path = options_.store, wanted, answer,
                                        &turns = metric_readers_]() -> Result<void> {
    const Turn turn(turns);
    *answer = TRY(buckets_of(path, wanted));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
  if (!done) co_return bad_call(done.error().text);
  co_return std::move(*answer);
}

/// `job` and `name` of the query: all seconds of a metric as CSV, in pieces as the browser takes
/// them.
Task<void> WebServer::download_metric(http::Exchange& exchange) {
  const std::string job = asked(exchange, "job");
  const std::string name = asked(exchange, "name");
  std::int64_t from = 0;
  const auto text = std::make_shared<std::string>();
  const std::function<Result<void>()> work = [path = options_.store, job, name, &from,
                                              text]() -> Result<void> {
    *text = TRY(csv_piece(path, job, name, from));
    return {};
  };
  Result<void> done = co_await loop::in_thread(exchange.loop(), work);
  http::Reply head = file_head("text/csv", file_name(job, ".csv"));
  if (!done || text->empty()) {
    head.status = 404;
    (void)co_await exchange.reply(std::move(head));
    co_return;
  }
  const Result<void> begun = co_await exchange.start(std::move(head));
  if (!begun) co_return;
  text->insert(0, logs::csv_head());
  while (!text->empty()) {
    const Result<void> sent = co_await exchange.write(*text);
    if (!sent) co_return;
    done = co_await loop::in_thread(exchange.loop(), work);
    if (!done) co_return exchange.finish_broken();
  }
}

}  // namespace muster::server
