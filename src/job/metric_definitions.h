#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::job {

/// One of a job's MetricDefinitions: a name, and the expression (RE2's) that finds it in a line.
struct MetricDefinition {
  std::string name;
  std::string expression;

  bool operator==(const MetricDefinition&) const = default;
};

// CreateTrainingJob's limits. Source: the API's model.
inline constexpr std::size_t metrics_max = 40;
inline constexpr std::size_t metric_name_bytes_max = 255;
inline constexpr std::size_t metric_expression_bytes_max = 500;

struct MetricValue {
  std::string name;
  double value = 0;

  bool operator==(const MetricValue&) const = default;
};

/// The metric whose value is the step of the other metrics in its line.
inline constexpr std::string_view step_metric = "step";
/// The largest step: doubles hold every whole number up to it.
inline constexpr std::int64_t step_max = std::int64_t{1} << 53;

/// The step of the metrics in a line: its first value of `step_metric`, if that is a whole number
/// from 0 to step_max. Pure.
std::optional<std::int64_t> step_of(const std::vector<MetricValue>& values);

/// A job's MetricDefinitions, compiled. Pure.
class MetricDefinitions {
 public:
  /// Error: `invalid_input` for an expression that RE2 does not know, with its reason: it has no
  /// look-around and no back-references.
  static Result<MetricDefinitions> from(const std::vector<MetricDefinition>& definitions);
  MetricDefinitions(MetricDefinitions&&) noexcept;
  MetricDefinitions& operator=(MetricDefinitions&&) noexcept;
  ~MetricDefinitions();

  bool empty() const;
  /// The metric values in a line: for each definition, the first group of each match (the whole
  /// match if there is no group) that is a number.
  std::vector<MetricValue> values_in(std::string_view line) const;
  /// The most that values_in() costs: bytes of the line times instructions of the expressions'
  /// programs.
  std::uint64_t work_of(std::string_view line) const;

 private:
  struct Compiled;
  MetricDefinitions();
  std::vector<Compiled> compiled_;
  std::uint64_t instructions_ = 0;  ///< Sum over all expressions' programs.
};

}  // namespace muster::job
