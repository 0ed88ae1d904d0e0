#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Removes `path` and all below it, however deep it lies, as safely in what a hostile program made
/// as in what a friend did: it takes at most 65 descriptors, never walks by a path that it
/// was given (what lies too deep is moved up first), follows no symbolic link and enters no mount:
/// what is mounted stays, and the error names it. Whoever moves folders about meanwhile cannot lead
/// it elsewhere: each folder is reached from its parent's descriptor alone.
///
/// What cannot be removed does not keep the rest; the error is the first one. What does not exist
/// is fine. Blocks, for a time that grows with the number of entries. Errors: `denied`, `system`.
Result<void> remove_tree(const std::string& path);
/// Removes the entry `name` of an open folder likewise.
Result<void> remove_tree_at(int folder, const std::string& name);

}  // namespace muster
