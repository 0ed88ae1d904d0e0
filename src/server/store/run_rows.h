#pragma once

// Inside server/store only: the tables behind the page's table of runs. The functions run within
// the caller's transaction. Source: docs/decisions/0077-runs-table.md.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "server/store/store.h"

namespace muster::store {

class Database;

/// Adds the hyperparameters and tags of a new job.
Result<void> add_run(Database& database, std::int64_t job, const std::string& request,
                     const Tags& tags);
/// After the tags of `arn` have changed; not only jobs have tags.
Result<void> retag_run(Database& database, const std::string& arn);

/// Values of a metric: those that are added, or all of a job's.
struct RunMetric {
  UnixMillis time{0};  ///< When the last one was.
  double last = 0;
  double least = 0;
  double most = 0;

  void add(const RunMetric& other);  ///< If both are of the same time, the other one is the last.
  bool operator==(const RunMetric&) const = default;
};
/// Further metrics of a job than the first 100 are left out.
Result<void> put_run_metrics(Database& database, std::int64_t job,
                             const std::map<std::string, RunMetric>& metrics);
Result<void> remove_run(Database& database, std::int64_t job);

/// Adds the jobs of an earlier muster, in transactions of its own, from where it was interrupted.
Result<void> fill_runs(Database& database, const FillProgress& progress);

}  // namespace muster::store
