#pragma once

#include <string>

#include "base/result.h"

namespace muster::container {

/// Writes into one of the kernel's files, in /proc or of a control group; never replaces the file.
/// Error: write(2)'s, naming the file.
Result<void> tell_kernel(const std::string& path, const std::string& text);

}  // namespace muster::container
