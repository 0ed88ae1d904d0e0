#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/host_spec.h"

namespace muster::container {

/// Control groups of hosts, on machines with version 1, 2 or both. `path` is as in the bundle:
/// "/muster/<job>.<tag>/algo-K".

using job::jobs_cgroup;
/// The lock to hold while the group of all jobs is created or removed, or while a job's group is
/// created in it.
inline constexpr const char* jobs_cgroup_lock = "/run/muster/cgroups.lock";

/// Where hierarchies are mounted: /sys/fs/cgroup itself and, for version 1, the folders in it.
std::vector<std::string> cgroup_roots();

/// How many processes of the group were killed by the kernel's OOM killer. Call it before the
/// container is removed.
long killed_for_memory(const std::string& path);

/// The group that accounts for a process's memory, from the text of its /proc/PID/cgroup; in the
/// same form as `path` in the other functions. Pure.
std::string memory_cgroup(const std::string& proc_cgroup);

/// True if the kernel did not let a process of the group start another process; the limit may be
/// that of a group above it. Call it before the container is removed.
bool refused_processes(const std::string& path);

/// The group that runc creates from the relative path `name` for a caller in the group `own`: below
/// it, or with version 2, where a group with processes cannot have limited children, next to it.
/// Pure except for the version, which it looks up.
std::string cgroup_below(const std::string& own, const std::string& name);

/// The group's own limit; none if it has no limit, or if the machine does not account for the
/// resource.
std::optional<std::int64_t> memory_limit(const std::string& path);
/// The lowest limit of the group and of the groups above it.
std::optional<std::int64_t> least_memory_limit(std::string path);
std::optional<std::int64_t> process_limit(const std::string& path);

/// Removes the group and the groups in it, in every hierarchy. A group that still has a process
/// stays.
void remove_cgroup(const std::string& path);

/// True if some hierarchy has the group.
bool has_cgroup(const std::string& path);

/// True if the group, or one in it, was created in the last minute: its processes may not have
/// started yet.
bool is_young_cgroup(const std::string& path);

/// Removes the group in every hierarchy in which it is empty.
void remove_idle_cgroup(const std::string& path);

/// The processes in the group and below, in any hierarchy.
std::vector<int> processes_in(const std::string& path);

/// Folders of all hosts' groups in one of cgroup_roots().
std::vector<std::string> host_groups(const std::string& root);

/// Names of the groups in jobs_cgroup.
std::vector<std::string> jobs_with_cgroups();

/// The count after `event` in memory.events ("oom_kill"), pids.events ("max") and the like; 0
/// without one. Pure.
long count_in(const std::string& text, std::string_view event);

}  // namespace muster::container
