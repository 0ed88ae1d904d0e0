#pragma once

#include <optional>
#include <string>

#include "base/command.h"

namespace muster::container {

/// The requirements of container hosts that a machine does not meet. Used on cluster nodes, which
/// may lack some.
struct Ability {
  std::string
      no_root{};  ///< Why this process is not root; empty: it is, at least in its namespaces.
  bool has_runtime = false;
  std::string no_mounts{};  ///< Why a separate file system could not be mounted; empty: it could.
  /// Why a control group below this process's could not be created; empty: it could.
  std::string no_group{};
};

/// The first missing requirement, as the end of "no container: …"; none if all are met. Pure.
std::optional<std::string> lack_of(const Ability& ability);

/// Tests the machine: creates mounts in a temporary mount namespace, and a temporary control group
/// (not as root of a user namespace, because its hosts stay in this process's group). `no_root`:
/// why this process is not root. Blocks for milliseconds.
Ability find_ability(const Env& env, std::string no_root);

}  // namespace muster::container
