#include "server/metrics.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "server/inputs.h"

namespace muster::server {
namespace {

/// Longer lines hold no metric: an expression would be tried on every byte of them.
constexpr std::size_t scraped_bytes_max = 64u << 10;
constexpr std::size_t samples_of_line_max = 16;
/// Samples of one transaction.
constexpr std::size_t batch_events = 5000;
constexpr std::size_t batch_bytes = 4u << 20;
/// RE2's programs beyond this are refused.
constexpr std::int64_t expression_bytes_max = 8 << 20;

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

Result<MetricDefinitions> MetricDefinitions::from(const Json& request) {
  MetricDefinitions definitions;
  const Json* algorithm = object_of(request, "AlgorithmSpecification");
  const Json* list = algorithm == nullptr ? nullptr : list_of(*algorithm, "MetricDefinitions");
  if (list == nullptr) return definitions;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(expression_bytes_max);
  for (const Json& each : *list) {
    Definition definition{text_of(each, "Name"), nullptr};
    definition.expression = std::make_unique<re2::RE2>(text_of(each, "Regex"), options);
    if (!definition.expression->ok())
      return fail(Errc::invalid_input, "the expression of metric \"" + definition.name +
                                           "\" is not one: " + definition.expression->error());
    definitions.definitions_.push_back(std::move(definition));
  }
  return definitions;
}

bool MetricDefinitions::empty() const {
  return definitions_.empty();
}

std::vector<MetricSample> MetricDefinitions::scrape(const LogEvent& event) const {
  std::vector<MetricSample> samples;
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

Result<bool> Metrics::scrape(const std::string& name) {
  const std::optional<Job> job = TRY(store_.job(name));
  if (!job) return false;
  const Json request = TRY(parse_json(job->request));
  const MetricDefinitions definitions = TRY(MetricDefinitions::from(request));
  if (definitions.empty()) return false;
  const bool ended = is_terminal(job->state.status);
  std::size_t left = batch_events;
  for (const std::string& host : hosts_of(request)) {
    const std::uint64_t from = TRY(store_.metrics_read_to(name, host));
    LogStream* stream = TRY(logs_.stream(name, host, ended));
    if (from >= stream->count()) continue;
    if (left == 0) return true;
    const std::vector<LogEvent> events = TRY(stream->read(from, left, batch_bytes));
    std::vector<MetricSample> samples;
    for (const LogEvent& event : events)
      for (MetricSample& sample : definitions.scrape(event)) samples.push_back(std::move(sample));
    TRY(store_.put_metrics(name, host, samples, from + events.size()));
    left -= events.size();
    if (from + events.size() < stream->count() && !events.empty()) return true;
  }
  return false;
}

Answer Metrics::operate(const std::string& operation, const Json& input) {
  if (operation == "GetMetricStatistics") return get_statistics(input);
  if (operation == "ListMetrics") return list(input);
  if (operation == "GetMetricData") return get_data(input);
  return Refusal{"UnknownOperationException", "muster does not serve monitoring:" + operation};
}

}  // namespace muster::server
