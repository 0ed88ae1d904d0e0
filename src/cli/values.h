#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "job/metric_definitions.h"

namespace muster::cli {

/// Values of flags. Pure: texts in, `invalid_input` that names the flag out.

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// "--hosts: expected a number, got "x"".
Error wrong_value(const std::string& flag, const std::string& expected, const std::string& got);
/// From 1 to `most`; `otherwise` for an empty text.
Result<int> whole_number(const char* flag, const std::string& text, int most, int otherwise);
/// "30s", "10m", "2h", "1d"; none if it is not a valid duration.
std::optional<std::chrono::seconds> span_in(std::string_view text);
/// What a flag that takes a time takes, and what it means where it is not given.
struct TimeRange {
  std::chrono::milliseconds least, most;
  std::chrono::milliseconds step;  ///< Only multiples of it.
  std::chrono::milliseconds otherwise;
};
/// A span_in(), or a number of seconds.
Result<std::chrono::milliseconds> time_span(const char* flag, const std::string& text,
                                            const TimeRange& range);
/// How long a job may run: a time_span() in whole seconds; a day if `text` is empty.
Result<std::chrono::seconds> timeout_of(const std::string& text);
/// "512m", "2g", "1.5G", "64GiB", or bytes: the suffixes k, m, g and t are powers of 1024, as in
/// Docker. `otherwise` for an empty text.
Result<std::int64_t> byte_count(const char* flag, const std::string& text, std::int64_t least,
                                std::int64_t otherwise);
/// A number with a fraction, given in thousandths: "1.5" is 1500. `otherwise` for an empty text.
Result<std::int64_t> thousandths(const char* flag, const std::string& text, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise);
/// "NAME=VALUE" texts; each name once. `form` says how they look.
Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts);
/// "NAME=REGEX" texts of --metric, within the API's limits.
Result<std::vector<job::MetricDefinition>> metrics_from(const std::vector<std::string>& texts);
/// Hyperparameters as they are given, in their order.
struct Hyperparameters {
  Pairs all;
  std::set<std::string> texts{};  ///< Names of those that are text, whatever they look like.
};
/// `values`: of --hyperparameter; `texts`: of --text-hyperparameter. Refuses those that `command`
/// itself sends.
Result<Hyperparameters> hyperparameters_from(std::vector<std::string> values,
                                             const std::vector<std::string>& texts,
                                             const std::string& command);

}  // namespace muster::cli
