#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct MountPoint {
  std::string path;
  std::string type;  ///< The file system's: "ext4", "proc".

  bool operator==(const MountPoint&) const = default;
};
/// What a mountinfo file (proc(5)) lists, decoded, in its order. Pure.
std::vector<MountPoint> mounts_of(std::string_view mountinfo);

/// The paths of sockets that /proc/net/unix lists; abstract ones have none. Pure.
std::vector<std::string> sockets_of(std::string_view net_unix);

}  // namespace muster
