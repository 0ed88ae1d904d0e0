#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::container {

/// Processors by number, ascending.
using Cpus = std::vector<int>;

/// "0-2,5", the kernel's list of processors; none if it is malformed. Both are pure.
std::optional<Cpus> cpus_from(std::string_view list);
std::string cpu_list(const Cpus& cpus);

/// Chooses `wanted` processors of `all` that are not in `taken`. None if there are too few, or if
/// `wanted` is all of them; the host then gets a quota of CPU time instead. Pure.
std::optional<Cpus> choose_cpus(const Cpus& all, const std::vector<Cpus>& taken,
                                std::size_t wanted);

/// The machine's processors, and those reserved for single hosts. `all` is empty on a machine
/// without control groups for them.
struct CpuShares {
  Cpus all;
  std::vector<Cpus> taken;
};
CpuShares cpu_shares();

}  // namespace muster::container
