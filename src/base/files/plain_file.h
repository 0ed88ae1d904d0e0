#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"

namespace muster {

/// The first bytes, at most so many, of a file that may be another user's, or in another's folder:
/// a named pipe or a device there is not even opened, which would block or do something to it.
/// Errors: `denied`: not a plain file; as the kernel says.
Result<std::string> read_head(const std::string& path, std::size_t bytes_max);

}  // namespace muster
