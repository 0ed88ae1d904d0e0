#pragma once

#include <string>

#include "job/wire/node_messages.h"

namespace muster::node {

/// Reads the file for the node, and removes it. Blocks. Errors, with the path: `denied` if it is a
/// link, or not a plain file that only this process's user can access; `invalid_input` for its
/// content; `not_found`, `system`.
Result<job::NodeJob> take_job(const std::string& path);

}  // namespace muster::node
