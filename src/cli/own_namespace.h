#pragma once

#include <optional>
#include <string>

#include "base/command.h"

namespace muster::cli {

/// For commands that need root: makes an ordinary user root of namespaces of his own, see
/// machine::enter_rootless(), and tells on standard error in the name of `command` what jobs lack
/// there, if `told`. An exit code where the machine refuses, which is said.
std::optional<int> enter_own_namespace(const std::string& command, Env& env, bool told);

}  // namespace muster::cli
