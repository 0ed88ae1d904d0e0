#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aws/api/job_request.h"
#include "aws/api/request.h"
#include "job/metric_definitions.h"
#include "net/loop/tasks.h"
#include "net/loop/turns.h"
#include "net/loop/wait.h"
#include "server/cloudwatch/logs.h"
#include "server/store/store.h"

namespace muster::cloudwatch {

using job::MetricDefinitions;

/// The samples in `event`. Pure.
std::vector<store::MetricSample> samples_in(const MetricDefinitions& definitions,
                                            const LogEvent& event);

class MetricScraper;

/// CloudWatch's metrics of jobs, scraped from their logs: GetMetricStatistics, GetMetricData
/// (metrics, no expressions) and ListMetrics of a job. Use it only on the store's thread, which is
/// the loop's; other threads read and match the logs.
class Metrics {
 public:
  /// All outlive this.
  Metrics(loop::Loop& loop, store::Store& store, const server::JournalFiles& journals)
      : loop_(loop), store_(store), journals_(journals), tasks_(loop) {}

  /// Reads new lines of the job's logs, each line exactly once, also after a restart: at most a few
  /// thousand lines per call. True if there are more. Call it from time to time while a job runs,
  /// and before its end is stored until it returns false, so that FinalMetricDataList is complete.
  /// Does nothing for a job without MetricDefinitions.
  loop::Task<Result<bool>> scrape(std::string job);
  /// Number of lines that were skipped because they exceeded the MetricAllowance.
  std::uint64_t left_out(const std::string& job) const;
  /// The job was deleted.
  void forget(const std::string& job);

  /// Call it before operate(): reads the logs of the requested jobs up to now. It takes no longer
  /// than a client waits; the next call continues.
  loop::Task<Result<void>> catch_up(Json input);
  /// `input` was validated against the service's model. For operations for which is_series() is
  /// false.
  api::Answer operate(const std::string& operation, const Json& input);
  /// As operate(), for operations for which is_series() is true. Runs in a thread, since a series
  /// may have many rows; keys take turns.
  loop::Task<api::Answer> read(api::Request request);

 private:
  struct Followed {
    explicit Followed(loop::Loop& loop) : freed(loop) {}
    std::shared_ptr<MetricScraper> scraper = make_scraper();
    std::uint64_t used = 0;  ///< Higher is more recent.
    std::uint64_t left_out = 0;
    bool is_busy = false;
    loop::Event freed;
  };
  struct Catching {
    explicit Catching(loop::Loop& loop) : done(loop) {}
    std::optional<Result<void>> result;
    loop::Event done;
  };
  static std::shared_ptr<MetricScraper> make_scraper();
  std::shared_ptr<Followed> followed(const std::string& job);
  loop::Task<Result<bool>> scrape_alone(std::string name, Followed& log);
  loop::Task<> catch_up_one(std::string job, std::shared_ptr<Catching> catching);
  api::Answer list(const Json& input);

  loop::Loop& loop_;
  store::Store& store_;
  const server::JournalFiles& journals_;
  std::uint64_t uses_ = 0;
  std::map<std::string, std::shared_ptr<Followed>> followed_;  ///< By job.
  std::map<std::string, std::shared_ptr<Catching>> catching_;  ///< Running catch-ups, by job.
  loop::Turns reads_{{.at_once = 4, .of_party = 3, .waiting_of_party = 128}};
  loop::Tasks tasks_;
};

/// True for GetMetricStatistics and GetMetricData.
bool is_series(const std::string& operation);
/// GetMetricStatistics' Datapoints: each bucket with the wanted statistics ("Average", "Sum",
/// "Minimum", "Maximum", "SampleCount"). Pure.
Json datapoints(const std::vector<store::MetricSecond>& buckets,
                const std::vector<std::string>& statistics);

}  // namespace muster::cloudwatch
