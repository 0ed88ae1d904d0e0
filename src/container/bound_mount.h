#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/id_map.h"
#include "job/spec.h"

namespace muster::container {

/// Shows a folder or file of the machine at `target`, which is made, with all that is mounted in
/// it; nothing in it is a device or gives rights by its mode. No link leads there any more:
/// `bound.outside` was resolved before.
///
/// Read-only, owners are those that the machine has, by number; a file system that cannot translate
/// them shows what anybody may read, and a line says so. Writable, a host's root is
/// `bound.user` there and nobody else, so that what it makes is theirs; all that is theirs in it
/// must be on file systems that can translate owners. `private_folders`: muster's on the machine.
/// Errors: `invalid_input` as job::check_outside(), or for what is no folder or file, or another
/// user's by now; `system` as the kernel says.
Result<std::string> mount_bound(const job::BoundPath& bound, const std::string& target,
                                const IdMap& ids, std::vector<std::string> private_folders);

}  // namespace muster::container
