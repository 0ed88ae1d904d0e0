#include "server/cloudwatch/metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/metric_scraper.h"

namespace muster::cloudwatch {
namespace {

/// Number of jobs whose position in their logs is kept in memory; for others it is read again.
constexpr std::size_t followed_max = 100;

}  // namespace

std::vector<store::MetricSample> samples_in(const MetricDefinitions& definitions,
                                            const LogEvent& event) {
  std::vector<job::MetricValue> values = definitions.values_in(event.message);
  const std::optional<std::int64_t> step = job::step_of(values);
  std::vector<store::MetricSample> samples;
  for (job::MetricValue& each : values) {
    const bool has_step = step && each.name != job::step_metric;
    samples.push_back({.name = std::move(each.name),
                       .time = event.time,
                       .value = each.value,
                       .step = has_step ? step : std::nullopt,
                       .attempt = event.attempt});
  }
  return samples;
}

std::shared_ptr<MetricScraper> Metrics::make_scraper() {
  return std::make_shared<MetricScraper>();
}

std::shared_ptr<Metrics::Followed> Metrics::followed(const std::string& job) {
  if (const auto found = followed_.find(job); found != followed_.end()) return found->second;
  if (followed_.size() >= followed_max)  // Running calls hold their own.
    followed_.erase(std::min_element(
        followed_.begin(), followed_.end(),
        [](const auto& a, const auto& b) { return a.second->used < b.second->used; }));
  return followed_[job] = std::make_shared<Followed>(loop_);
}

void Metrics::forget(const std::string& job) {
  followed_.erase(job);
}

std::uint64_t Metrics::left_out(const std::string& job) const {
  const auto found = followed_.find(job);
  return found == followed_.end() ? 0 : found->second->left_out;
}

loop::Task<Result<bool>> Metrics::scrape(std::string job) {
  const std::shared_ptr<Followed> log = followed(job);
  log->used = ++uses_;
  while (log->is_busy) co_await log->freed.wait();
  log->is_busy = true;
  Result<bool> more = co_await scrape_alone(std::move(job), *log);
  log->is_busy = false;
  log->freed.notify();
  co_return more;
}

loop::Task<Result<bool>> Metrics::scrape_alone(std::string name, Followed& log) {
  const Result<std::optional<store::Job>> job = store_.job(name);
  if (!job) co_return job.error();
  if (!*job) co_return false;
  const bool ended = store::is_terminal((*job)->state.status);
  Result<api::JobRequest> request = api::job_request_from((*job)->request);
  if (!request) co_return request.error();
  if (request->metrics.empty()) co_return false;
  std::vector<MetricScraper::Host> hosts;
  for (const std::string& host : request->hosts()) {
    const Result<std::uint64_t> from = store_.metrics_read_to(name, host);
    if (!from) co_return from.error();
    hosts.push_back({host, journals_.file(name, host), *from});
  }
  const auto scraped = std::make_shared<MetricScraper::Scraped>();
  std::function<Result<void>()> work =
      [scraper = log.scraper, metrics = std::move(request->metrics), hosts = std::move(hosts),
       ended, scraped]() -> Result<void> {
    const MetricDefinitions definitions = TRY(MetricDefinitions::from(metrics));
    *scraped = TRY(scraper->scrape(definitions, hosts, ended));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(loop_, std::move(work));
  if (!done) co_return done.error();
  log.left_out += scraped->left_out;
  for (const MetricScraper::Part& part : scraped->parts) {
    const Result<void> put = store_.put_metrics(name, part.host, part.samples, part.read_to);
    if (!put) co_return put.error();
  }
  co_return scraped->more;
}

api::Answer Metrics::operate(const std::string& operation, const Json& input) {
  if (operation == "ListMetrics") return list(input);
  return aws::Refusal{"UnknownOperationException",
                      "muster does not support monitoring:" + operation};
}

}  // namespace muster::cloudwatch
