#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace muster::steward {

/// Locks are flock(2) on files; they are released when their process ends. Each job folder has
/// `lock`, held by the engine and by the job's stewards (who inherit its descriptor), and each host
/// folder `lock`, held by its steward.

/// Takes the lock file `path`, and creates it if it is missing. Error: `denied` if another process
/// holds it.
Result<Fd> take_lock(const std::string& path);

/// Waits for the lock that a job's hosts take while they change what they share (the parent
/// cgroup): shared while joining, exclusive while removing.
Result<Fd> wait_for_shared_lock(const std::string& job_folder, bool exclusive);

/// True if a process holds `<job_folder>/lock` or one of its hosts' locks.
bool is_living(const std::string& job_folder);
/// True if one of its hosts has a steward.
bool has_stewards(const std::string& job_folder);

/// Names of the folders in `path` that begin with `start`; sorted.
std::vector<std::string> folders_in(const std::string& path, const std::string& start);

/// Unmounts everything below `path`, even if a host has moved it. Uses the kernel's list of mounts,
/// because a path through a host's folders may contain links of the host.
void unmount_below(const std::string& path);

/// Removes `path` and everything in it (base/files/remove_tree.h), after unmounting everything in
/// it.
Result<void> remove_tree(const std::string& path);

}  // namespace muster::steward
