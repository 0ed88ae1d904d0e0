#pragma once

#include <cstdint>
#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// A folder of limited size: a separate file system in a sparse file. Reasons and costs:
/// docs/decisions/0034-volumes.md.

/// What a volume can be made of: `asked`, or what the file system of `folder` has free, if less.
/// Error: `system`.
Result<std::int64_t> volume_bytes(const std::string& folder, std::int64_t asked);

/// Makes `image` with an empty file system of `bytes` and mounts it at `target`, which is made; in
/// the private mounts of this process, with which the device goes that the kernel makes for it. On
/// an error nothing is left but `target`, an empty folder. Errors: `not_found` without mke2fs;
/// `denied` or `system` where the machine has no loop devices.
Result<void> mount_volume(const std::string& image, const std::string& target, std::int64_t bytes,
                          const Env& env);

/// True if all that was written to the volume at `target` has come to lie in its file. False where
/// the machine's own file system had no room for it, or its disk failed. Blocks while it writes.
bool is_volume_whole(int folder);

}  // namespace muster::container
