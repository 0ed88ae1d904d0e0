#pragma once

#include <string>

#include "base/command.h"
#include "base/files/swept.h"

namespace muster::steward {

struct SweepOptions {
  std::string state_folder;
  bool kept_too = false;  ///< Also jobs whose hosts were kept for inspection.
};

/// Removes leftovers of killed stewards and jobs on this machine: containers and control groups of
/// jobs whose lock is free, and job folders of this state folder whose lock is free, with the
/// mounts in them. Never touches a running job of any state folder. Blocks. Error: `denied` without
/// root.
Result<Swept> sweep(const SweepOptions& options, const Env& env);

/// Removes leftovers of a job's hosts on this machine after all of its stewards have ended, so that
/// the hosts can restart. Their journals, results and specifications stay. The job itself may still
/// run. Blocks. Errors: `denied` without root, or while one of its stewards runs.
Result<Swept> clear_hosts(const std::string& job_folder, const Env& env);

}  // namespace muster::steward
