#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::steward {

struct SweepOptions {
  std::string state_folder;
  bool kept_too = false;  ///< Also jobs whose hosts were kept for inspection.
};

struct Swept {
  std::vector<std::string> removed;  ///< "container mpi-demo-algo-1", ...
  std::vector<std::string> failed;   ///< What could not be removed, and why.
};

/// Removes what killed stewards and jobs left on this machine: containers and control groups of
/// jobs that no process holds the lock of, and dead job folders of this state with what is mounted
/// in them. Never touches a living job, of whatever state folder. Blocks.
/// Error: `denied` without root.
Result<Swept> sweep(const SweepOptions& options, const Env& env);

}  // namespace muster::steward
