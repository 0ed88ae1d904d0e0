#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// The text of a file that is to be private, at most 4 KiB, without white space at its ends.
/// Errors: `denied` for a file that others than its owner can read; `invalid_input` for what is no
/// plain file, or longer; those of walk_given().
Result<std::string> read_private(const std::string& path);

/// The text of a file that nobody but its owner can change, and that is root's or this process's
/// user's; at most 64 KiB. Errors: `denied` for any other; `invalid_input` for what is no
/// plain file, or longer; those of walk_given().
Result<std::string> read_guarded(const std::string& path);

}  // namespace muster
