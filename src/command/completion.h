#pragma once

#include <string>

#include "base/result.h"

namespace muster::command {

/// The completion script of `shell`, bash, zsh or fish, for all commands that people type: their
/// flags, the values that there are, files where a value is one. Pure. Error: `invalid_input` for
/// another shell.
Result<std::string> completion_script(const std::string& shell);

}  // namespace muster::command
