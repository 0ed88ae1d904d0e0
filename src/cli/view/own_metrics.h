#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/metric_definitions.h"
#include "job/outcome/lines.h"
#include "platform/journals/log_messages.h"

namespace muster::cli {

/// The metrics in the lines of a job of this machine, as they come. Expressions are applied to
/// whole lines as LogMessages gives them, as they are on a server. Pure.
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
  std::map<std::string, platform::LogMessages> hosts_;
  std::map<std::string, Last> last_;
};

/// A job's MetricDefinitions, as DescribeTrainingJob tells them.
std::vector<job::MetricDefinition> metric_definitions_in(const Json& description);

}  // namespace muster::cli
