#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/id_map.h"
#include "job/spec.h"

namespace muster::container {

/// Mounts a folder or file of the machine at `target`, which is created, with everything that is
/// mounted inside it, but without devices and setuid bits. The caller has already resolved
/// `bound.outside`, so links in it are not followed.
///
/// Read-only, files keep the machine's numeric owners; if the file system cannot translate them,
/// only files readable by everyone are visible, and the returned line says so. Writable, a host's
/// root is `bound.user` there, so that files it creates belong to that user; all file systems in it
/// that belong to the user must be able to translate owners. `private_folders`: muster's on the
/// machine. Errors: `invalid_input` as job::check_outside(), or if it is no longer a folder or file
/// of that user; `system` from the kernel.
Result<std::string> mount_bound(const job::BoundPath& bound, const std::string& target,
                                const IdMap& ids, std::vector<std::string> private_folders);

}  // namespace muster::container
