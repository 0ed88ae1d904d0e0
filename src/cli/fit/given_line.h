#pragma once

#include <string>

#include "command/given.h"

namespace muster::cli {

/// Makes a line of `sm fit` or `sm submit` mean the same in any other folder: relative paths, the
/// script's among them, become absolute ones below `folder`. Looks on the disk whether the script
/// is in the source folder; then its path stays.
command::Given with_absolute_paths(command::Given given, const std::string& folder);

}  // namespace muster::cli
