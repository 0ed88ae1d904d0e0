#pragma once

#include <string>

#include "base/command.h"

namespace muster {

/// A variable's value, or `otherwise` if it is not set. Pure.
std::string value_of(const Env& env, const std::string& name, const std::string& otherwise = {});

}  // namespace muster
