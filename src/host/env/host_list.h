#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// Maximum number of names in one list.
inline constexpr std::size_t host_list_max = 4096;

/// The names in a list of hosts in the notation of pdsh and Slurm: "a,b,c", "node[1-3,07]",
/// "rack[1-2]-node[01-16]". Numbers keep their leading zeros; names keep their order. Pure. Error:
/// `invalid_input`, naming the invalid part.
Result<std::vector<std::string>> expand_host_list(std::string_view text);

}  // namespace muster
