#pragma once

#include <chrono>
#include <string>

namespace muster::node {

/// How long a host on a cluster's node may take to end. The scheduler kills all of a job this long
/// after it has signalled the job. The remaining time, less what agent and steward need to report
/// the end, limits the job's own grace period, whichever side requests the stop.
struct SchedulersGrace {
  std::chrono::milliseconds asked{0};      ///< The job's own.
  std::chrono::milliseconds kill_wait{0};  ///< The scheduler's, between its SIGTERM and SIGKILL.
  std::chrono::milliseconds more{0};       ///< What it adds where it takes a node for another job.

  /// When the scheduler ends the job.
  std::chrono::milliseconds ordinary() const;
  /// When the scheduler takes the node for another job; the most that there is.
  std::chrono::milliseconds preempted() const;
  /// For the job's log, where the job's own grace is not the one that counts; else empty.
  std::string note() const;
};

}  // namespace muster::node
