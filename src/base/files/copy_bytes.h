#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Copies all that is in the open file `from`, read from its start, into the new empty file `to`:
/// shared on disk where the file system can, else by the kernel, else by hand. Blocks. Error: as
/// the kernel says, with `path`.
Result<void> copy_bytes(int from, int to, const std::string& path);

}  // namespace muster
