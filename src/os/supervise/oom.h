#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job/outcome/outcome.h"

namespace muster::supervise {

/// How many processes of our own cgroup, and of groups below it, the kernel's out-of-memory killer
/// has killed so far; none if the kernel does not report it. Comparing two readings around a run
/// shows whether a SIGKILL in it may be the killer's. Blocks for two small reads. Source:
/// Documentation/admin-guide/cgroup-v2.rst (memory.events: oom_kill), cgroup-v1/memory.rst
/// (memory.oom_control: oom_kill, of the group alone).
std::optional<std::uint64_t> oom_kills(const std::string& own_cgroup = "/proc/self/cgroup",
                                       const std::string& root = "/sys/fs/cgroup");

/// What the counter was when a run began.
class OomWatch {
 public:
  OomWatch() : at_start_(oom_kills()) {}
  /// True if the killer has struck in our cgroup since.
  bool struck() const;
  /// True if it has, and `outcome` is an end by SIGKILL: of the process, or of what a shell ran.
  bool explains(const job::Outcome& outcome) const;

 private:
  std::optional<std::uint64_t> at_start_;
};

}  // namespace muster::supervise
