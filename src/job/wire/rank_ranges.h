#pragma once

#include <set>
#include <string>

// Pure.

namespace muster::job {

/// "0-2,5"; of more than 100 ranges the first, "0,2,4 and 97 more".
std::string rank_ranges(const std::set<int>& ranks);
/// "ranks 0-2,5", "rank 3"
std::string rank_names(const std::set<int>& ranks);

}  // namespace muster::job
