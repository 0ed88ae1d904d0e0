#pragma once

#include <string>
#include <vector>

#include "base/files/mounts.h"
#include "job/spec.h"

namespace muster::job {

/// Rules of what hosts may see of a machine as it is (`sm fit --bind`), and where. Pure.

/// A bound path must not cover anything that every host has: /opt/ml, the kernel's files, muster's
/// own. Error: `invalid_input`: the path is not absolute, contains "." or "..", or is reserved.
Result<void> check_inside(const std::string& path);

/// check_inside() of each, and that no path is inside another one. Error: `invalid_input`.
Result<void> check_inside(const std::vector<BoundPath>& bound);

/// What a machine is at the moment.
struct Surroundings {
  std::vector<MountPoint> mounts{};
  std::vector<std::string> sockets{};          ///< Where programs listen.
  std::vector<std::string> private_folders{};  ///< Muster's own.
};
/// Refuses what would show more than a person means who names a folder: the machine's root, the
/// kernel's files also where they are mounted inside, a service's socket, muster's own folders
/// (those inside are covered in a path that is not writable). Error: `invalid_input`, which names
/// it.
Result<void> check_outside(const BoundPath& bound, const Surroundings& machine);

}  // namespace muster::job
