#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "net/loop/tasks.h"
#include "platform/job_run.h"
#include "server/cloudwatch/metrics.h"
#include "server/jobs/job_counts.h"
#include "server/jobs/reserve.h"
#include "server/store/store.h"

namespace muster::jobs {

/// A job's end in the store's form. Pure.
store::JobFinish finish_of(const platform::JobReport& report);

/// Jobs that hang or are silent, by name. Not stored: a restarted server detects them again.
using Standstills = std::map<std::string, platform::Standstill>;

/// The objects that a Watch uses; all of them outlive every Watch.
struct WatchContext {
  loop::Loop& loop;
  loop::Tasks&
      tasks;  ///< The group of the metrics' owner: logs are parsed independently of their jobs.
  store::Store& store;
  cloudwatch::Metrics& metrics;
  const Reserve& reserve;
  const Log& log;
  JobCounts& counts;
  Standstills& standstills;
};

/// Stores the events of one job, in order and each once: its statuses as they arrive, its metrics
/// as its log grows, its hosts' usage, and its end, before the engine removes what a restarted
/// server would read.
class Watch final : public platform::Sink {
 public:
  struct AtEnd {
    std::function<Result<void>()> keep_journals;
    std::function<loop::Task<>(store::JobFinish end)> finish;
  };
  /// `secondary`: the job's secondary status in the store. Statuses that an earlier server stored
  /// are not stored again. `remark`: more for the message of the status Training, unless empty.
  Watch(WatchContext context, std::string job, std::string_view secondary, AtEnd at_end,
        std::string remark = {});

  void status(const platform::StatusLine& line) override;
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override;
  /// Stores where a host runs next to its GPUs: its first report in each attempt.
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override;
  void usage(const std::vector<engine::HostUsage>& hosts) override;
  void standstill(const std::optional<platform::Standstill>& what) override;
  Duration usage_pause() override;
  void ended(const platform::JobReport& report) override;
  /// Call after ended(): waits until the end is stored.
  loop::Task<> flush() override;

 private:
  struct Scraping;
  Result<void> tell();
  void thin_one();
  loop::Task<> store_end();
  static loop::Task<> scrape_all(WatchContext context, std::string job);
  static loop::Task<> scrape_beside(WatchContext context, std::string job,
                                    std::shared_ptr<Scraping> scraping);

  WatchContext context_;
  std::string job_;
  int told_;  ///< The last status that is stored, or about to be.
  bool starts_again_;
  AtEnd at_end_;
  std::string remark_;
  std::deque<store::StatusChange> changes_;  ///< Not in the store yet: its disk was full.
  std::optional<store::JobFinish> end_;      ///< Not in the store yet, either.
  std::shared_ptr<Scraping> scraping_;
  std::set<std::string> placed_;  ///< The hosts whose NUMA report of this attempt is stored.
  std::optional<UnixMillis> usage_began_;
  std::chrono::milliseconds usage_pause_{0};
  /// The pause for which each host's samples were last thinned.
  std::map<std::string, std::chrono::milliseconds> thinned_;
};

}  // namespace muster::jobs
