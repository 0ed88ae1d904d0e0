#pragma once

#include <string>

#include "base/command.h"

namespace muster::cli {

/// Where a program of that name is on the PATH of `env`, or in the places where administrators'
/// programs are; empty if nowhere.
std::string on_path(const std::string& name, const Env& env);

}  // namespace muster::cli
