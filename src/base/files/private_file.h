#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Reads a file that must be private, at most 4 KiB, and strips white space at both ends. Errors:
/// `denied` if users other than its owner can read the file; `invalid_input` if it is not a regular
/// file, or too long; those of walk_given().
Result<std::string> read_private(const std::string& path);

/// Reads a file that only its owner can change, at most 64 KiB; the owner is root or this process's
/// user. Errors: `denied` for any other file; `invalid_input` if it is not a regular file, or too
/// long; those of walk_given().
Result<std::string> read_guarded(const std::string& path);

}  // namespace muster
