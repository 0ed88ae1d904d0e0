#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "job/wire/timeline.h"
#include "platform/job_run.h"

namespace muster::jobs {

/// Counters of this server's jobs since its start, for monitoring. Belongs to the main loop.
struct JobCounts {
  struct Phase {
    std::uint64_t count = 0;  ///< Hosts that had the phase.
    std::chrono::milliseconds sum{0};
  };
  /// By the Point that ends the phase, over all hosts of all ended jobs.
  std::array<Phase, job::point_count> phases{};
  std::uint64_t restarts = 0;  ///< Attempts beyond the first.

  /// A job has ended. Its hosts' phases count from their stewards' start on.
  void add(const platform::JobEnd& end);
};

}  // namespace muster::jobs
