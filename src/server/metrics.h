#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/call.h"
#include "server/logs.h"
#include "server/store.h"

namespace muster::server {

/// A job's MetricDefinitions, compiled. Pure.
class MetricDefinitions {
 public:
  /// `request`: CreateTrainingJob's input. Error: `invalid_input` for an expression that RE2 does
  /// not know, with its reason: it has no look-around and no back-references.
  static Result<MetricDefinitions> from(const Json& request);
  MetricDefinitions(MetricDefinitions&&) noexcept;
  MetricDefinitions& operator=(MetricDefinitions&&) noexcept;
  ~MetricDefinitions();

  bool empty() const;
  /// The numbers that `event` tells: of each definition every match's first group (the whole match
  /// where it has no group) that is a number.
  std::vector<MetricSample> scrape(const LogEvent& event) const;

 private:
  struct Definition;
  MetricDefinitions();
  std::vector<Definition> definitions_;
};

/// CloudWatch's metrics of jobs, scraped from their logs: GetMetricStatistics,
/// GetMetricData (metrics, no expressions) and ListMetrics of a job.
/// Belongs to the store's thread.
class Metrics {
 public:
  Metrics(Store& store, Logs& logs) : store_(store), logs_(logs) {}

  /// Reads what the job's logs got since the last time, each line once, whatever happens between:
  /// at most some thousand lines a call. True if there is more. Called now and then while a job
  /// runs, and before its end is stored until there is no more, so that FinalMetricDataList is
  /// whole. Nothing to do for a job without MetricDefinitions.
  Result<bool> scrape(const std::string& job);

  /// `input` was validated against the service's model.
  Answer operate(const std::string& operation, const Json& input);

 private:
  Result<void> catch_up(const std::string& job);
  Answer get_statistics(const Json& input);
  Answer get_data(const Json& input);
  Answer list(const Json& input);
  /// Of `metric` between `range`'s StartTime and EndTime.
  Result<std::vector<MetricSecond>> samples(const Json& metric, const Json& range);

  Store& store_;
  Logs& logs_;
};

/// GetMetricStatistics' Datapoints: buckets of `period` seconds counted from 1970, each with the
/// wanted statistics ("Average", "Sum", "Minimum", "Maximum", "SampleCount"). Pure.
Json datapoints(const std::vector<MetricSecond>& samples, std::int64_t period,
                const std::vector<std::string>& statistics);

}  // namespace muster::server
