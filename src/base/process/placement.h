#pragma once

#include <vector>

#include "base/process/cpus.h"
#include "base/result.h"

namespace muster {

// Where this process and those that it starts run, and where their memory is.

/// The processors that this process may use; empty if the kernel does not say.
Cpus own_cpus();

/// Limits this process to `cpus`, which are not empty. Error: `system`, e.g. for processors that
/// its control group does not have.
Result<void> run_on(const Cpus& cpus);

/// Prefers memory of these NUMA nodes, which are not empty; if they are full, memory comes from
/// others. Before Linux 5.15, only the first one can be preferred. Error: `system`, e.g. for a
/// kernel without NUMA.
Result<void> prefer_memory_of(const std::vector<int>& nodes);

/// True if it was said where this process's memory is to be: by prefer_memory_of(), or by a user.
bool has_memory_policy();

}  // namespace muster
