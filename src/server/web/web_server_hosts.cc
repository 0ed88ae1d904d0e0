// The web page's view of the resource use of a job's hosts: in one bucket per pixel of a chart, or
// as CSV.

#include <algorithm>
#include <cmath>

#include "aws/api/inputs.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/metric_series.h"
#include "server/cloudwatch/usage_series.h"
#include "server/store/metric_reader.h"
#include "server/web/web_rules.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;
using store::HostSample;
using store::MetricReader;

/// The number of colours in a chart.
constexpr std::size_t hosts_max = 8;

struct Wanted {
  std::string job;
  std::string measure;
  std::int64_t skip = 0;
  ChartRange range{};
};

bool is_measure(const std::string& name) {
  return cloudwatch::measure_named(name) || cloudwatch::gpu_measure_named(name);
}

Result<Wanted> wanted_in(const Json& input) {
  Wanted wanted{api::text_of(input, "job"), api::text_of(input, "measure"),
                api::integer_of(input, "skip").value_or(0)};
  if (!is_measure(wanted.measure)) return fail(Errc::invalid_input, "unknown measure");
  if (wanted.skip < 0)
    return fail(Errc::invalid_input, "cannot leave out more hosts than there are");
  wanted.range = TRY(chart_range(input, 2000, "2,000"));
  return wanted;
}

/// Adds a value of one of the host's GPUs or, with -1, of the whole host.
using Take = std::function<void(UnixMillis time, double value, std::int64_t gpu)>;

/// Passes on the host's values, each with the end of its time span.
Result<void> read_values(MetricReader& reader, const std::string& job, const std::string& host,
                         const std::string& name, UnixMillis from, UnixMillis to,
                         const Take& take) {
  if (const std::optional<cloudwatch::GpuMeasure> gpus = cloudwatch::gpu_measure_named(name)) {
    return reader.gpus(job, host, from, to, [&](const store::GpuSample& sample) {
      take(sample.time, cloudwatch::value_of(sample, *gpus), sample.gpu);
    });
  }
  const cloudwatch::Measure measure = *cloudwatch::measure_named(name);
  std::optional<HostSample> before;
  const auto sample = [&](const HostSample& now) {
    // Rates need two samples: the first one contains only counters.
    const std::optional<double> value =
        cloudwatch::value_between(before.value_or(now), now, measure);
    before = now;
    if (value && now.time >= from) take(now.time, *value, -1);
  };
  return reader.usage(job, host, from, to, sample);
}

Result<Json> buckets_of(MetricReader& reader, const Wanted& wanted) {
  const std::vector<store::HostSpan> all = TRY(reader.hosts(wanted.job));
  const auto [from, to, most] = wanted.range;
  Json hosts = Json::array();
  std::int64_t width = 1;
  for (std::size_t i = static_cast<std::size_t>(wanted.skip);
       i < all.size() && hosts.size() < hosts_max; ++i) {
    cloudwatch::MetricBuckets buckets(from, to, most);
    width = buckets.width();
    const auto take = [&buckets](UnixMillis time, double value, std::int64_t) {
      buckets.add({time.count() / 1000, value, value, value, 1});
    };
    TRY(read_values(reader, wanted.job, all[i].host, wanted.measure, std::chrono::seconds(from),
                    std::chrono::seconds(to), take));
    hosts.push_back({{"host", all[i].host}, {"buckets", chart_json(buckets, from)}});
  }
  return Json{{"from", from}, {"width", width}, {"hosts", std::move(hosts)}};
}

Result<Json> spans_of(MetricReader& reader, const std::string& job) {
  Json list = Json::array();
  for (const store::HostSpan& each : TRY(reader.hosts(job)))
    list.push_back({{"host", each.host},
                    {"first", each.first.count() / 1000},
                    {"last", each.last.count() / 1000},
                    {"gpus", each.has_gpus}});
  return Json{{"hosts", std::move(list)}};
}

/// The values of a host's measure as lines of CSV.
Result<std::string> csv_of(MetricReader& reader, const std::string& job, const std::string& host,
                           const std::string& measure) {
  std::string text;
  const auto take = [&](UnixMillis time, double value, std::int64_t gpu) {
    const std::string of = gpu < 0 ? host : host + " GPU " + std::to_string(gpu);
    text += cloudwatch::usage_csv_line(job, of, measure, time, value);
  };
  TRY(read_values(reader, job, host, measure, UnixMillis(0), std::chrono::seconds(second_max),
                  take));
  return text;
}

}  // namespace

/// {"job"}: the hosts with samples, the time of the first and the last sample, and whether the
/// samples include GPUs.
Task<Result<Json, aws::Refusal>> WebServer::hosts(Call& call) {
  return read_metrics(call, [&call](MetricReader& reader) {
    return spans_of(reader, api::text_of(call.input, "job"));
  });
}

/// {"job", "measure", "skip", "from", "to", "buckets"}: for up to eight hosts after the first
/// "skip", [number, least, most, mean, count] of each bucket with values. A host's buckets combine
/// all of its GPUs.
Task<Result<Json, aws::Refusal>> WebServer::host_usage(Call& call) {
  return read_metrics(call, [&call](MetricReader& reader) -> Result<Json> {
    const Wanted wanted = TRY(wanted_in(call.input));
    return buckets_of(reader, wanted);
  });
}

/// `job` and `measure` in the query: the values of all hosts as CSV, one host after the other.
Task<void> WebServer::download_usage(http::Exchange& exchange, std::string key) {
  std::function<Result<std::string>(MetricReader&)> piece =
      [job = asked(exchange, "job"), measure = asked(exchange, "measure"),
       hosts = std::optional<std::vector<store::HostSpan>>(),
       next = std::size_t{0}](MetricReader& reader) mutable -> Result<std::string> {
    if (!is_measure(measure)) return std::string();
    std::string text;
    if (!hosts) {
      hosts = TRY(reader.hosts(job));
      text = cloudwatch::usage_csv_head();
    }
    while (text.empty() && next < hosts->size())
      text = TRY(csv_of(reader, job, (*hosts)[next++].host, measure));
    return text;
  };
  return download_csv(exchange, std::move(key), std::move(piece));
}

}  // namespace muster::server
