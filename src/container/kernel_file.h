#pragma once

#include <string>

#include "base/result.h"

namespace muster::container {

/// Writes into a file of the kernel's, of /proc or a control group: as it is, never replaced.
/// Error: write(2)'s, naming the file.
Result<void> tell_kernel(const std::string& path, const std::string& text);

}  // namespace muster::container
