#pragma once

#include <string>
#include <vector>

#include "base/files/mounts.h"
#include "job/spec.h"

namespace muster::job {

/// Rules for the machine's own folders that hosts see (`sm fit --bind`): which, and at which path.
/// Pure.

/// Checks the path inside the host: it must not cover anything that every host has, such as
/// /opt/ml, the kernel's files and muster's own. Error: `invalid_input`: the path is not absolute,
/// contains "." or "..", or is reserved.
Result<void> check_inside(const std::string& path);

/// Calls check_inside() for each path, and checks that no path is inside another one. Error:
/// `invalid_input`.
Result<void> check_inside(const std::vector<BoundPath>& bound);

/// What a machine is at the moment.
struct Surroundings {
  std::vector<MountPoint> mounts{};
  std::vector<std::string> sockets{};          ///< Where programs listen.
  std::vector<std::string> private_folders{};  ///< Muster's own.
};
/// Refuses paths that would show more than the user probably means: the machine's root, the
/// kernel's files (also where they are mounted inside the path), a service's socket, and muster's
/// own folders (if they are inside a read-only path, they are covered instead). Error:
/// `invalid_input`, which names the path.
Result<void> check_outside(const BoundPath& bound, const Surroundings& machine);

}  // namespace muster::job
