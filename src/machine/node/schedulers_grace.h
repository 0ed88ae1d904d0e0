#pragma once

#include <chrono>
#include <string>

namespace muster::node {

/// The time that a host on a cluster's node may take to end. After this time, the scheduler kills
/// all processes of a job that it has signalled. The remaining time, less what daemon and steward
/// need to report the end, limits the job's own grace period, whichever side requests the stop.
struct SchedulersGrace {
  std::chrono::milliseconds asked{0};      ///< The job's own.
  std::chrono::milliseconds kill_wait{0};  ///< The scheduler's, between its SIGTERM and SIGKILL.
  std::chrono::milliseconds more{0};  ///< The additional time if it takes a node for another job.

  /// When the scheduler ends the job.
  std::chrono::milliseconds ordinary() const;
  /// If the scheduler takes the node for another job; the longest possible time.
  std::chrono::milliseconds preempted() const;
  /// A line for the job's log if the job's own grace does not apply; otherwise empty.
  std::string note() const;
};

}  // namespace muster::node
