#include "job/metric_definitions.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace muster::job {
namespace {

/// Longer lines hold no metric: an expression would be tried on every byte of them.
constexpr std::size_t scraped_bytes_max = 64u << 10;
constexpr std::size_t values_of_line_max = 16;
/// What an expression may take of memory; RE2 refuses programs that need more.
constexpr std::int64_t expression_bytes_max = 2 << 20;

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

std::optional<std::int64_t> step_of(const std::vector<MetricValue>& values) {
  const auto found = std::find_if(values.begin(), values.end(), [](const MetricValue& value) {
    return value.name == step_metric;
  });
  if (found == values.end()) return std::nullopt;
  const double value = found->value;
  if (!(value >= 0 && value <= static_cast<double>(step_max)) || value != std::floor(value))
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

struct MetricDefinitions::Compiled {
  std::string name;
  std::unique_ptr<re2::RE2> expression;
};

MetricDefinitions::MetricDefinitions() = default;
MetricDefinitions::MetricDefinitions(MetricDefinitions&&) noexcept = default;
MetricDefinitions& MetricDefinitions::operator=(MetricDefinitions&&) noexcept = default;
MetricDefinitions::~MetricDefinitions() = default;

Result<MetricDefinitions> MetricDefinitions::from(
    const std::vector<MetricDefinition>& definitions) {
  MetricDefinitions made;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(expression_bytes_max);
  for (const MetricDefinition& each : definitions) {
    Compiled compiled{each.name, std::make_unique<re2::RE2>(each.expression, options)};
    if (!compiled.expression->ok())
      return fail(Errc::invalid_input, "invalid regex for metric \"" + each.name +
                                           "\": " + compiled.expression->error());
    made.instructions_ += static_cast<std::uint64_t>(compiled.expression->ProgramSize());
    made.compiled_.push_back(std::move(compiled));
  }
  return made;
}

bool MetricDefinitions::empty() const {
  return compiled_.empty();
}

std::vector<MetricValue> MetricDefinitions::values_in(std::string_view line) const {
  std::vector<MetricValue> values;
  if (line.size() > scraped_bytes_max) return values;
  const re2::StringPiece text(line.data(), line.size());
  for (const Compiled& each : compiled_) {
    const re2::RE2& expression = *each.expression;
    const int groups = std::min(expression.NumberOfCapturingGroups(), 1);
    std::size_t at = 0;
    for (std::size_t found = 0; found < values_of_line_max && at <= text.size();) {
      std::array<re2::StringPiece, 2> parts;
      if (!expression.Match(text, at, text.size(), re2::RE2::UNANCHORED, parts.data(), groups + 1))
        break;
      const re2::StringPiece& group = parts[static_cast<std::size_t>(groups)];
      const std::size_t begin = static_cast<std::size_t>(parts[0].data() - text.data());
      at = begin + std::max<std::size_t>(parts[0].size(), 1);
      const std::optional<double> value =
          group.data() == nullptr ? std::nullopt
                                  : number_in(std::string_view(group.data(), group.size()));
      if (value) values.push_back({each.name, *value});
      ++found;
    }
  }
  return values;
}

std::uint64_t MetricDefinitions::work_of(std::string_view line) const {
  return line.size() > scraped_bytes_max ? 0 : line.size() * instructions_;
}

}  // namespace muster::job
