#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::container {

/// Processors by number, ascending.
using Cpus = std::vector<int>;

/// "0-2,5" as the kernel lists processors; none: it is no such list. Pure, both.
std::optional<Cpus> cpus_from(std::string_view list);
std::string cpu_list(const Cpus& cpus);

/// `wanted` of `all` that are in none of `taken`; none where there are too few, or `wanted` is all
/// there are: then time is allotted, not processors. Pure.
std::optional<Cpus> choose_cpus(const Cpus& all, const std::vector<Cpus>& taken,
                                std::size_t wanted);

/// Processors of this machine, and those of each host that has some of its own. `all` is empty on a
/// machine without control groups for that.
struct CpuShares {
  Cpus all;
  std::vector<Cpus> taken;
};
CpuShares cpu_shares();

}  // namespace muster::container
