#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Copies the open regular file `from` into the new empty file `to`: shared on disk where the file
/// system can, else by the kernel, else by hand. Holes stay holes, so that a copy takes no more of
/// the disk than a stranger's file. Blocks. Error: as the kernel says, with `path`.
Result<void> copy_bytes(int from, int to, const std::string& path);

/// Copies extended attributes "user.*" as far as the file systems can.
void copy_user_attributes(int from, int to);

}  // namespace muster
