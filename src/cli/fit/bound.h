#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/clean_tree.h"
#include "base/result.h"
#include "cli/fit/fit_options.h"
#include "job/spec.h"

namespace muster::cli {

/// What `--bind` names, looked up on the disk: links are resolved here and never again. A writable
/// one is the submitter's, for what a job makes there is: of `owner`, where one is known
/// (submitter()). Error: `invalid_input`, in one line that says what else to do.
Result<std::vector<job::BoundPath>> find_bound(const std::vector<BindWish>& wishes,
                                               const std::string& cwd,
                                               const std::optional<Owner>& owner);

}  // namespace muster::cli
