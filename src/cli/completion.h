#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/result.h"

namespace muster::cli {

/// The completion script of `shell` (bash, zsh or fish) for the commands and options of `root`, one
/// level of subcommands deep. Options whose type is DIR, FILE, PATH or ends in =DIR complete paths.
/// Pure. Error: `invalid_input` for another shell.
Result<std::string> completion_script(const std::string& shell, const CLI::App& root);

}  // namespace muster::cli
