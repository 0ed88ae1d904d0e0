#pragma once

#include <string>

#include "base/result.h"

namespace muster::image {

/// Waits for the lock on an open file or folder that is created under a unique name, and renamed or
/// removed when it is complete. False: `path` no longer names it, so look again. Blocks. Error:
/// `system`.
Result<bool> claim(int file, const std::string& path);
/// Without waiting; false also where another process has the lock.
bool try_claim(int file, const std::string& path);

}  // namespace muster::image
