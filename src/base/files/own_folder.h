#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

/// muster's own folders hold keys, records and paths that it removes. If another user could change
/// one of them, that user would decide what root reads, runs and removes.

/// Why users other than root and `caller` can change files in a folder with this status; empty if
/// they cannot. `groups` is the text of /etc/group: a group with the owner as its only member may
/// write. If `is_last` is false, the folder is a parent, and a sticky one such as /tmp is fine:
/// other users cannot rename the caller's files there. Pure.
std::string why_not_own(const struct stat& status, uid_t caller, bool is_last,
                        std::string_view groups);

/// Checks the folder at `path` (absolute) and all its parents, as why_not_own() does; follows links
/// as walk_given() does. Missing folders may be created later, except in a sticky folder: there,
/// this creates the folder at once (0700), before another user can. After success, only root and
/// the caller can make `path` lead elsewhere. Call it before this process enters a user namespace.
/// Errors: `denied` for a folder that others can change; those of walk_given().
Result<void> check_own_folder(const std::string& path, uid_t caller = ::geteuid());

}  // namespace muster
