#pragma once

#include <string>

#include "base/fd.h"

namespace muster::image {

/// Opens a file for reading in a folder that may be another user's: a named pipe or a device there
/// is not even opened, which would block or do something to it. Errors: `protocol`: not a plain
/// file; as the kernel says.
Result<Fd> open_plain(const std::string& path);

}  // namespace muster::image
