#pragma once

#include <cstdint>
#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// A folder of limited size: a separate file system in a sparse file. Reasons and costs:
/// docs/decisions/0034-volumes.md.

/// The size of a volume: `asked`, or the free space in the file system of `folder` if it is less.
/// Error: `system`.
Result<std::int64_t> volume_bytes(const std::string& folder, std::int64_t asked);

/// Creates `image` with an empty file system of `bytes`, creates `target`, and mounts the file
/// system there. The mount is in this process's private mounts; when they end, the kernel removes
/// the loop device, too. On an error only `target`, an empty folder, is left. Errors: `not_found`
/// without mke2fs; `denied` or `system` where the machine has no loop devices.
Result<void> mount_volume(const std::string& image, const std::string& target, std::int64_t bytes,
                          const Env& env);

/// Writes everything in the volume at `target` to its file. False if the machine's own file system
/// had no space for it, or its disk failed. Blocks while it writes.
bool is_volume_whole(int folder);

}  // namespace muster::container
