#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::image {

/// The bytes that a folder takes on the disk with all that is below it. A file with several names
/// counts once, if all of them are below the folder. Blocks; takes one descriptor a level. Error:
/// `system`.
Result<std::uint64_t> disk_use(const std::string& folder);

}  // namespace muster::image
