#pragma once

#include <string>
#include <vector>

#include "job/host_spec.h"

namespace muster::container {

/// Control groups of hosts, on machines with version 1, 2 or both. `path` is as in the bundle:
/// "/muster/<job>/algo-K".

using job::jobs_cgroup;

/// Where hierarchies are mounted: /sys/fs/cgroup itself and, for version 1, the folders in it.
std::vector<std::string> cgroup_roots();

/// True if the kernel killed a process of the group for want of memory. To be asked before the
/// container is removed.
bool killed_for_memory(const std::string& path);

/// Removes the group in every hierarchy, and those in it; what still holds a process stays.
void remove_cgroup(const std::string& path);

/// True if some hierarchy has the group.
bool has_cgroup(const std::string& path);

/// Removes the group itself in every hierarchy where nothing is in it.
void remove_idle_cgroup(const std::string& path);

/// The processes in the group and below, in any hierarchy.
std::vector<int> processes_in(const std::string& path);

/// Jobs that have a group: names below "/muster".
std::vector<std::string> jobs_with_cgroups();

/// The count after "oom_kill" in memory.events or memory.oom_control; 0 without one. Pure.
long oom_kills(const std::string& text);

}  // namespace muster::container
