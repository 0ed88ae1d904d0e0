#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Processors by number, ascending.
using Cpus = std::vector<int>;

/// "0-2,5", the kernel's list of processors; none if it is malformed. Pure, like those below.
std::optional<Cpus> cpus_from(std::string_view list);
std::string cpu_list(const Cpus& cpus);

/// The processors that both have. Both are ascending.
Cpus common_cpus(const Cpus& a, const Cpus& b);

}  // namespace muster
