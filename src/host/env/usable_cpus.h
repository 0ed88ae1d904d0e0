#pragma once

#include <string_view>

namespace muster::env {

/// The number of processors that a program on this host may use: those in its affinity, or fewer if
/// the host's cgroup has a quota. At least 1.
int usable_cpus();

/// Whole processors, rounded up, of a quota as cgroup version 2 has it in `cpu.max`: "150000
/// 100000" is 2; `all` without a quota ("max 100000") or for any other text. Pure.
int cpus_of_quota(std::string_view text, int all);

}  // namespace muster::env
