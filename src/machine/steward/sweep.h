#pragma once

#include <string>

#include "base/command.h"
#include "base/files/swept.h"

namespace muster::steward {

struct SweepOptions {
  std::string state_folder;
  bool kept_too = false;  ///< Also jobs whose hosts were kept for inspection.
};

/// Removes what killed stewards and jobs left on this machine: containers and control groups of
/// jobs that no process holds the lock of, and dead job folders of this state with what is mounted
/// in them. Never touches a living job, of whatever state folder. Blocks.
/// Error: `denied` without root.
Result<Swept> sweep(const SweepOptions& options, const Env& env);

/// Removes what the hosts of a job left on this machine whose stewards have all ended, so that they
/// may start again: their journals, results and specifications stay. The job may live. Blocks.
/// Errors: `denied` without root, or while one of its stewards lives.
Result<Swept> clear_hosts(const std::string& job_folder, const Env& env);

}  // namespace muster::steward
