#pragma once

#include <string>

#include "base/result.h"

namespace muster::engine {

/// Removes `path` and all below it. Follows no symbolic link and enters no mount: where something
/// is mounted, that stays, and the error names it (a host's mounts show users' own folders). What
/// does not exist is fine. Blocks. Errors: `denied`, `system`.
Result<void> remove_tree(const std::string& path);

}  // namespace muster::engine
