#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace muster::job {

/// Bytes that went each way since a host's start; -1: not known.
struct Flow {
  std::int64_t in = -1;
  std::int64_t out = -1;

  bool operator==(const Flow&) const = default;
};

/// What a GPU was used for, in the mean since it was asked before.
struct GpuUse {
  int number = 0;                 ///< As the machine counts: N of /dev/nvidiaN.
  int percent = 0;                ///< Time in which some program ran on it.
  std::int64_t memory_bytes = 0;  ///< The most.

  bool operator==(const GpuUse&) const = default;
};

/// What a host uses of its machine.
struct Usage {
  std::int64_t memory_bytes = 0;                ///< Without files' pages that were not used lately.
  std::chrono::microseconds processor_time{0};  ///< All the host's processes', since its start.
  std::int64_t processes = 0;
  Flow disk{};     ///< `in`: read from disks, `out`: written to them; no page cache's.
  Flow network{};  ///< Through the interfaces of the host; not known where it has the machine's.
  std::vector<GpuUse> gpus{};  ///< The host's own GPUs, if their driver's tool reports them.

  bool operator==(const Usage&) const = default;
};

}  // namespace muster::job
