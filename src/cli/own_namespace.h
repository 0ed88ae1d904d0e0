#pragma once

#include <optional>
#include <string>

#include "base/command.h"

namespace muster::cli {

/// For commands that need root: makes an ordinary user root of new namespaces, see
/// places::enter_rootless(). If `told`, prints on standard error, in the name of `command`, which
/// features jobs lack there. Prints the reason and returns an exit code if the machine refuses.
std::optional<int> enter_own_namespace(const std::string& command, Env& env, bool told);

}  // namespace muster::cli
