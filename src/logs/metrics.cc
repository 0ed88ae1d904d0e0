#include "logs/metrics.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/inputs.h"
#include "base/text.h"
#include "logs/metric_scraper.h"
#include "loop/worker.h"

namespace muster::logs {
namespace {

/// Longer lines hold no metric: an expression would be tried on every byte of them.
constexpr std::size_t scraped_bytes_max = 64u << 10;
constexpr std::size_t samples_of_line_max = 16;
/// What an expression may take of memory; RE2 refuses programs that need more.
constexpr std::int64_t expression_bytes_max = 2 << 20;
/// Jobs whose place in their logs is remembered; of further ones it is read anew.
constexpr std::size_t followed_max = 100;

std::optional<double> number_in(std::string_view text) {
  const std::string trimmed = trim(text);
  const char* begin = trimmed.c_str();
  if (*begin == '+') ++begin;
  double value = 0;
  const char* end = trimmed.c_str() + trimmed.size();
  const auto [stop, trouble] = std::from_chars(begin, end, value);
  if (trouble != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

struct MetricDefinitions::Definition {
  std::string name;
  std::unique_ptr<re2::RE2> expression;
};

MetricDefinitions::MetricDefinitions() = default;
MetricDefinitions::MetricDefinitions(MetricDefinitions&&) noexcept = default;
MetricDefinitions& MetricDefinitions::operator=(MetricDefinitions&&) noexcept = default;
MetricDefinitions::~MetricDefinitions() = default;

Result<MetricDefinitions> MetricDefinitions::from(
    const std::vector<api::JobRequest::Metric>& metrics) {
  MetricDefinitions definitions;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(expression_bytes_max);
  for (const api::JobRequest::Metric& metric : metrics) {
    Definition definition{metric.name, nullptr};
    definition.expression = std::make_unique<re2::RE2>(metric.expression, options);
    if (!definition.expression->ok())
      return fail(Errc::invalid_input, "the expression of metric \"" + definition.name +
                                           "\" is not one: " + definition.expression->error());
    definitions.instructions_ += static_cast<std::uint64_t>(definition.expression->ProgramSize());
    definitions.definitions_.push_back(std::move(definition));
  }
  return definitions;
}

std::vector<store::MetricSample> MetricDefinitions::scrape(const LogEvent& event) const {
  std::vector<store::MetricSample> samples;
  if (event.message.size() > scraped_bytes_max) return samples;
  for (const Definition& each : definitions_) {
    const re2::RE2& expression = *each.expression;
    const int groups = std::min(expression.NumberOfCapturingGroups(), 1);
    std::size_t at = 0;
    for (std::size_t found = 0; found < samples_of_line_max && at <= event.message.size();) {
      std::array<re2::StringPiece, 2> parts;
      if (!expression.Match(event.message, at, event.message.size(), re2::RE2::UNANCHORED,
                            parts.data(), groups + 1))
        break;
      const re2::StringPiece& group = parts[static_cast<std::size_t>(groups)];
      const std::size_t begin = static_cast<std::size_t>(parts[0].data() - event.message.data());
      at = begin + std::max<std::size_t>(parts[0].size(), 1);
      const std::optional<double> value =
          group.data() == nullptr ? std::nullopt
                                  : number_in(std::string_view(group.data(), group.size()));
      if (value) samples.push_back({each.name, event.time, *value});
      ++found;
    }
  }
  return samples;
}

std::uint64_t MetricDefinitions::work_of(const LogEvent& event) const {
  return event.message.size() > scraped_bytes_max ? 0 : event.message.size() * instructions_;
}

std::shared_ptr<MetricScraper> Metrics::make_scraper() {
  return std::make_shared<MetricScraper>();
}

std::shared_ptr<Metrics::Followed> Metrics::followed(const std::string& job) {
  if (const auto found = followed_.find(job); found != followed_.end()) return found->second;
  if (followed_.size() >= followed_max)  // Whoever is at work holds its own.
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
    hosts.push_back({host, journal_of_(name, host), *from});
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
  if (operation == "GetMetricStatistics") return get_statistics(input);
  if (operation == "ListMetrics") return list(input);
  if (operation == "GetMetricData") return get_data(input);
  return aws::Refusal{"UnknownOperationException", "muster does not serve monitoring:" + operation};
}

}  // namespace muster::logs
