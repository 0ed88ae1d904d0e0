#pragma once

#include <string>

#include "base/command.h"

namespace muster::cli {

/// Where a program of that name is on the PATH of `env`, or in the places where administrators'
/// programs are; empty if nowhere. A name with '/' is a path, of which that is said.
std::string on_path(const std::string& name, const Env& env);
/// As on_path(); first in the folder of `python`, a path that may be empty.
std::string beside_python(const std::string& python, const std::string& name, const Env& env);

}  // namespace muster::cli
