#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/metric_definitions.h"
#include "job/outcome/lines.h"
#include "platform/journals/log_lines.h"

namespace muster::cli {

/// What the lines of a job of this machine tell of its metrics, as they come. Pure.
class OwnMetrics {
 public:
  explicit OwnMetrics(job::MetricDefinitions definitions) : definitions_(std::move(definitions)) {}
  void take(const std::string& host, UnixMillis time, const job::Lines& lines);
  /// The last value of each, by name, in the form of DescribeTrainingJob's FinalMetricDataList.
  Json last() const;

 private:
  struct Last {
    UnixMillis time{0};
    double value = 0;
  };
  job::MetricDefinitions definitions_;
  std::map<std::string, platform::LogLines> hosts_;
  std::map<std::string, Last> last_;
};

/// A job's MetricDefinitions, as DescribeTrainingJob tells them.
std::vector<job::MetricDefinition> metric_definitions_in(const Json& description);

/// When the host told a metric first, from `since` on; none in the first 64 MiB of its journal.
/// Blocks until it is found. Error: `system`.
Result<std::optional<UnixMillis>> first_metric(const job::MetricDefinitions& definitions,
                                               const std::string& journal, UnixMillis since);

}  // namespace muster::cli
