#pragma once

#include <optional>
#include <string>

#include "base/command.h"

namespace muster::container {

/// What a machine that was not chosen for it, a cluster's node, has of what a host in a container
/// needs.
struct Ability {
  std::string
      no_root{};  ///< Why this process is not root; empty: it is, of its namespaces at least.
  bool has_runtime = false;
  std::string no_mounts{};  ///< Why a separate file system could not be mounted; empty: it could.
  /// Why a control group below this process's could not be created; empty: it could.
  std::string no_group{};
};

/// The first thing that is missing, as the end of "no container: …"; none: nothing is. Pure.
std::optional<std::string> lack_of(const Ability& ability);

/// Tries it: creates mounts in a temporary mount namespace, and a temporary control group (not as
/// root of a user namespace, whose hosts are in this process's group). `no_root`: why it is not
/// root. Blocks for milliseconds.
Ability find_ability(const Env& env, std::string no_root);

}  // namespace muster::container
