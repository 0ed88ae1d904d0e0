#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/devices/gpu.h"
#include "os/devices/topology.h"

// Pure: who gets which GPU.

namespace muster::devices {

/// A GPU that a living job has, or that no job may have.
struct Holding {
  std::vector<std::string> files;  ///< Gpu::files()
  std::string host{};              ///< "algo-1"
  std::string job{};
  std::string sickness{};  ///< CardHealth::sickness; empty: a job has it.
};

struct Wish {
  std::string host;
  int count = 0;
};

/// Each wish's GPUs, in order, of one kind altogether and each to one host alone. Error: `system`
/// when there are not enough, with figures and who has the others.
Result<std::vector<std::vector<Gpu>>> assign(const std::vector<Gpu>& gpus,
                                             const std::vector<Holding>& held,
                                             const std::vector<Wish>& wishes,
                                             const Topology& topology);

}  // namespace muster::devices
