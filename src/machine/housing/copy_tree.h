#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/fd.h"

namespace muster::steward {

/// Copies what the open folder `from` holds into the open folder `to`, with times and modes, but
/// for names that are not `wanted` and what is neither file nor folder nor link. `from` may belong
/// to another user who changes it meanwhile: links stay links and are never followed. Blocks.
/// Returns 0 or the errno of what went wrong: ELOOP beyond 128 folders in each other.
int copy_tree(int from, int to, const std::function<bool(const std::string& name)>& wanted);

/// Gives a copy the time of modification and the mode in `status`, without what lends rights.
void dress_copy(const Fd& fd, const struct stat& status);

}  // namespace muster::steward
