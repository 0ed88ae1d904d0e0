#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/fd.h"

namespace muster::steward {

/// Copies the content of the open folder `from` to the open folder `to`, with times and modes.
/// Skips names that are not `wanted`, and entries other than files, folders and links. `from` may
/// belong to another user who changes it meanwhile: links stay links and are never followed.
/// Blocks. Memory grows with the depth alone. Returns 0 or an errno: ELOOP beyond 128 levels of
/// folders.
///
/// `links`: an open empty folder in the file system of `to`. Hard links stay hard links as far as
/// the file system can: the folder gets one link to each such file, named by its inode. -1: each
/// name becomes a file.
int copy_tree(int from, int to, const std::function<bool(const std::string& name)>& wanted,
              int links = -1);

/// Sets a copy's modification time and mode from `status`, without setuid and similar bits.
void dress_copy(const Fd& fd, const struct stat& status);

}  // namespace muster::steward
