#pragma once

#include <string>

#include "base/result.h"

namespace muster::image {

/// Waits for the lock on an open file or folder that is made under a name of its own and renamed,
/// or removed, when it is done. False: `path` does not name it any more, so that whoever waited
/// looks again. Blocks. Error: `system`.
Result<bool> claim(int file, const std::string& path);
/// Without waiting; false also where another process has the lock.
bool try_claim(int file, const std::string& path);

}  // namespace muster::image
