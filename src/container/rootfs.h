#pragma once

#include <string>

#include "base/result.h"

namespace muster::container {

/// Gives the calling process a mount namespace of its own: what it mounts from now on is seen by
/// it and its children only, and goes when the last of them ends. Error: `denied` without root.
Result<void> enter_private_mounts();

/// Mounts at `target` a writable view of the folder `lower`: writes go to `layer`/upper, which is
/// made here; `lower` is never touched. Mounts inside `lower` do not show. All folders by path;
/// any characters. Errors: as the kernel says; `denied` or `system` where overlays do not work.
Result<void> mount_overlay(const std::string& lower, const std::string& layer,
                           const std::string& target);

/// Mounts an empty tmpfs at `target`, which is made if need be.
Result<void> mount_tmpfs(const std::string& target);

/// Takes away what is mounted at `target` and below it, also if in use; fine if nothing is.
void unmount(const std::string& target);

/// The writable view of the machine's root at `target`. Where `layer` lies on a file system that
/// cannot hold an overlay's writes (another overlay, for one), they go to memory instead.
Result<void> mount_machine_root(const std::string& layer, const std::string& target);

}  // namespace muster::container
