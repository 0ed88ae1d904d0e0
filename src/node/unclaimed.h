#pragma once

// Inside node/ only.

#include <string>

#include "base/time.h"

namespace muster::node {

/// Removes what was brought to this node for jobs that never began here, in `folder` (/tmp): Slurm
/// takes a job whose prolog fails away from its nodes, and nothing of it runs there that could
/// clear up. Only plain files of this user's count, named "muster-<nonce>.<word>", beside which
/// there is no folder of that job, and which were made before `before`. Blocks.
void remove_unclaimed(const std::string& folder, UnixMillis before);

}  // namespace muster::node
