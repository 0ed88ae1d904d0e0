#pragma once

#include <optional>
#include <vector>

#include "base/process/cpus.h"

namespace muster::container {

/// Chooses `wanted` processors of `all` that are not in `taken`: of `best` if it has enough of
/// them. None if there are too few, or if `wanted` is all of them; the host then gets a quota of
/// CPU time instead. Pure.
std::optional<Cpus> choose_cpus(const Cpus& all, const std::vector<Cpus>& taken, std::size_t wanted,
                                const Cpus& best = {});

/// The machine's processors, and those reserved for single hosts. `all` is empty on a machine
/// without control groups for them.
struct CpuShares {
  Cpus all;
  std::vector<Cpus> taken;
};
CpuShares cpu_shares();

}  // namespace muster::container
