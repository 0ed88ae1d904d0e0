#include "cli/values.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "job/limits.h"

namespace muster::cli {

Error wrong_value(const std::string& flag, const std::string& expected, const std::string& got) {
  return fail(Errc::invalid_input,
              flag + ": expected " + expected + ", got \"" + to_utf8(got) + "\"");
}

Result<int> whole_number(const char* flag, const std::string& text, int most, int otherwise) {
  if (text.empty()) return otherwise;
  const std::optional<std::int64_t> number = parse_integer(text);
  if (number && *number >= 1 && *number <= most) return static_cast<int>(*number);
  return wrong_value(flag, "a whole number from 1 to " + std::to_string(most), text);
}

namespace {

/// A non-negative number without a sign or an exponent, and the text after it.
struct Decimal {
  double value = 0;
  std::string unit;
};
std::optional<Decimal> decimal(const std::string& text) {
  Decimal read;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, read.value, std::chars_format::fixed);
  if (error != std::errc() || text[0] == '-' || !std::isfinite(read.value)) return std::nullopt;
  read.unit.assign(rest, end);
  return read;
}

/// 1024 for "k", "KB" or "KiB"; 0 for an unknown unit.
double unit_bytes(std::string unit) {
  for (char& c : unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = std::string_view("kmgt").find(unit[0]);
  const std::string rest = unit.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return 0;
  return std::pow(1024.0, static_cast<double>(power) + 1);
}

/// Seconds of a span's unit; 0 for an unknown unit.
std::int64_t unit_seconds(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::chrono::seconds> span_in(std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000;
  if (text.empty()) return std::nullopt;
  const std::int64_t unit = unit_seconds(text.back());
  const std::optional<std::int64_t> count = parse_integer(text.substr(0, text.size() - 1));
  if (unit == 0 || !count || *count < 0 || *count > most) return std::nullopt;
  return std::chrono::seconds(*count * unit);
}

Result<std::chrono::milliseconds> time_span(const char* flag, const std::string& text,
                                            const TimeRange& range) {
  if (text.empty()) return range.otherwise;
  std::optional<std::chrono::milliseconds> span = span_in(text);
  const std::optional<Decimal> number = decimal(text);
  if (number && number->unit.empty() && number->value <= 1e9)
    span = std::chrono::milliseconds(std::llround(number->value * 1000));
  if (span && *span >= range.least && *span <= range.most && (*span % range.step).count() == 0)
    return *span;
  const auto seconds = [](std::chrono::milliseconds bound) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(bound).count());
  };
  return wrong_value(flag,
                     "a number of seconds from " + seconds(range.least) + " to " +
                         seconds(range.most) + ", or a duration (90s, 10m, 2h, 1d)",
                     text);
}

Result<std::chrono::seconds> timeout_of(const std::string& text) {
  constexpr std::chrono::seconds second{1};
  const TimeRange range{second, job::training_time_max, second, std::chrono::hours(24)};
  return std::chrono::duration_cast<std::chrono::seconds>(TRY(time_span("--timeout", text, range)));
}

Result<std::int64_t> byte_count(const char* flag, const std::string& text, std::int64_t least,
                                std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  constexpr double most = 1e18;
  const std::optional<Decimal> read = decimal(text);
  const double bytes = read ? read->value * unit_bytes(read->unit) : 0;
  if (bytes >= static_cast<double>(least) && bytes <= most) return std::llround(bytes);
  return wrong_value(
      flag, "a size of at least " + std::to_string(least) + " bytes, e.g. 512m or 2g", text);
}

Result<std::int64_t> thousandths(const char* flag, const std::string& text, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  const std::optional<Decimal> read = decimal(text);
  const bool whole = read && read->unit.empty() && read->value <= static_cast<double>(most) / 1000;
  const std::int64_t value = whole ? std::llround(read->value * 1000) : -1;
  if (value >= least) return value;
  std::string from = std::to_string(static_cast<double>(least) / 1000);
  from.resize(from.find_last_not_of('0') + 1);
  return wrong_value(flag, "a number from " + from + " to " + std::to_string(most / 1000), text);
}

Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts) {
  Pairs all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return wrong_value(flag, form, text);
    std::string name = text.substr(0, equals);
    if (!is_utf8(text) || text.find('\0') != std::string::npos)
      return fail(Errc::invalid_input,
                  std::string(flag) + ": " + to_utf8(name) + ": expected UTF-8 text");
    for (const auto& [other, value] : all)
      if (other == name)
        return fail(Errc::invalid_input, std::string(flag) + ": " + name + " was given twice");
    all.emplace_back(std::move(name), text.substr(equals + 1));
  }
  return all;
}

Result<std::vector<job::MetricDefinition>> metrics_from(const std::vector<std::string>& texts) {
  if (texts.size() > job::metrics_max)
    return fail(Errc::invalid_input, "--metric: expected at most 40 metrics");
  std::vector<job::MetricDefinition> metrics;
  for (auto& [name, expression] : TRY(pairs("--metric", "NAME=REGEX", texts))) {
    if (name.size() > job::metric_name_bytes_max || expression.empty() ||
        expression.size() > job::metric_expression_bytes_max)
      return fail(Errc::invalid_input,
                  "--metric: " + name.substr(0, job::metric_name_bytes_max) +
                      ": expected a name of at most 255 bytes and a regex of 1 to 500 bytes");
    metrics.push_back({std::move(name), std::move(expression)});
  }
  const Result<job::MetricDefinitions> compiled = job::MetricDefinitions::from(metrics);
  if (!compiled) return compiled.error().in("--metric");
  return metrics;
}

Result<Hyperparameters> hyperparameters_from(std::vector<std::string> values,
                                             const std::vector<std::string>& texts,
                                             const std::string& command) {
  Hyperparameters hyperparameters;
  for (const auto& [name, value] : TRY(pairs("--text-hyperparameter", "NAME=VALUE", texts)))
    hyperparameters.texts.insert(name);
  values.insert(values.end(), texts.begin(), texts.end());
  hyperparameters.all = TRY(pairs("--hyperparameter", "NAME=VALUE", values));
  for (const auto& [name, value] : hyperparameters.all)
    for (const char* own : {"sagemaker_program", "sagemaker_submit_directory",
                            "sagemaker_mpi_enabled", "sagemaker_mpi_num_of_processes_per_host",
                            "sagemaker_mpi_custom_mpi_options", "sagemaker_job_name"})
      if (name == own)
        return fail(Errc::invalid_input, "--hyperparameter: " + name + " is not allowed, because " +
                                             command + " sets this hyperparameter itself");
  return hyperparameters;
}

}  // namespace muster::cli
