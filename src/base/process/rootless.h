#pragma once

#include <cstdint>
#include <string>

#include "base/command.h"

namespace muster {

/// Jobs of an ordinary user: muster is root of a user namespace of his own there, and of nothing
/// else (docs/decisions/0046-rootless.md). Pure.

/// Says so to all processes of muster's: how many user and group ids the namespace has. Set by
/// places::enter_rootless() alone.
inline constexpr const char* rootless_variable = "MUSTER_ROOTLESS";

/// 0: muster is root of the machine, or need not be.
std::int64_t rootless_ids(const Env& env);

/// Where an ordinary user's jobs, images and settings are: $XDG_STATE_HOME/muster, or
/// $HOME/.local/state/muster. Empty without either.
/// Source: XDG Base Directory Specification 0.8.
std::string user_state_folder(const Env& env);

/// The register of muster's private folders (base/process/private_folders.h): the machine's, or the
/// user's.
std::string private_folder_register_of(const Env& env);

}  // namespace muster
