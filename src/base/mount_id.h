#pragma once

#include <cstdint>
#include <optional>

namespace muster {

/// The number of the mount that `path` lies on, as of the open folder `folder`; an empty path means
/// what is open itself. Two places with one number are on one mount: no other begins between them.
/// None, with errno, if it cannot be told. Source: statx(2), STATX_MNT_ID (Linux 5.8).
std::optional<std::uint64_t> mount_id(int folder, const char* path = "");

}  // namespace muster
