#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Removes `path` and everything below it, at any depth. It is safe against hostile programs: it
/// uses at most 65 descriptors, never walks by a path (entries that are too deep are moved up
/// first), and does not follow symbolic links or enter mounts. A mount point stays, and the error
/// names it. Moving folders meanwhile cannot lead it elsewhere, because it opens each folder only
/// from its parent's descriptor.
///
/// An entry that cannot be removed does not stop the removal of the others; the first error is
/// returned. A missing path is fine. Blocks for a time that grows with the number of entries.
/// Errors: `denied`, `system`.
Result<void> remove_tree(const std::string& path);
/// Removes the entry `name` of an open folder in the same way.
Result<void> remove_tree_at(int folder, const std::string& name);

}  // namespace muster
