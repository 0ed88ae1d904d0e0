#pragma once

#include <cstdint>
#include <optional>

namespace muster {

/// The number of the mount that `path` is on, relative to the open folder `folder`; an empty path
/// means the folder itself. Two paths with the same number are on one mount, with no mount point
/// between them. None, with errno set, on failure. Source: statx(2), STATX_MNT_ID (Linux 5.8).
std::optional<std::uint64_t> mount_id(int folder, const char* path = "");

}  // namespace muster
