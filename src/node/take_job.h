#pragma once

#include <string>

#include "job/node_messages.h"

namespace muster::node {

/// Reads the file that the node was given, and removes it. Blocks. Errors, with the path: `denied`
/// for what is not a plain file of this process's user's alone, or a link; `invalid_input` for
/// what stands in it; `not_found`, `system`.
Result<job::NodeJob> take_job(const std::string& path);

}  // namespace muster::node
