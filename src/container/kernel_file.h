#pragma once

#include <string>

#include "base/result.h"

namespace muster::container {

/// Writes into one of the kernel's files, in /proc or of a control group; never replaces the file.
/// Error: the error of write(2), with the file's name.
Result<void> tell_kernel(const std::string& path, const std::string& text);

}  // namespace muster::container
