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

/// Why users other than root and `caller` can change what is in a folder with this status; empty if
/// they cannot. `groups` is the text of /etc/group: a group that has only the owner may write. On
/// the way to an own folder (`is_last` false) a sticky folder such as /tmp is fine, as nobody else
/// can rename what is the caller's there. Pure.
std::string why_not_own(const struct stat& status, uid_t caller, bool is_last,
                        std::string_view groups);

/// Checks the folder at `path`, absolute, and all folders on the way, as why_not_own() does; links
/// are followed as walk_given() does. What is missing may be made later, but in a sticky folder
/// it is made at once (0700), before another user does. Once this succeeds, nobody but root and the
/// caller can lead `path` elsewhere. To be called before this process enters a user namespace.
/// Errors: `denied` for a folder that others can change; those of walk_given().
Result<void> check_own_folder(const std::string& path, uid_t caller = ::geteuid());

}  // namespace muster
