#pragma once

#include <optional>
#include <vector>

#include "base/json.h"

namespace muster::cli {

/// What `sm wait` ends with. Pure. `jobs`: the description of each job that has ended, null for
/// the others, in the order in which they were named. None: the wait goes on. 0 if all that ended
/// completed, else exit_code_of_job() of the first that did not. `any`: one ended job is enough.
std::optional<int> code_of_wait(const std::vector<Json>& jobs, bool any);

}  // namespace muster::cli
