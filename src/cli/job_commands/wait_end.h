#pragma once

#include <optional>
#include <vector>

#include "base/json.h"

namespace muster::cli {

/// The exit code of `sm wait`. Pure. `jobs`: the description of each job that has ended, null for
/// the others, in the order of the command line. None: continue to wait. 0 if all that ended
/// completed, else exit_code_of_job() of the first that did not. `any`: one ended job is enough.
std::optional<int> code_of_wait(const std::vector<Json>& jobs, bool any);

}  // namespace muster::cli
