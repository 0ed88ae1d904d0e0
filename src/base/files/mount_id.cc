#include "base/files/mount_id.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace muster {

std::optional<std::uint64_t> mount_id(int folder, const char* path) {
  struct statx status {};
  if (::statx(folder, path, AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return std::nullopt;
  return status.stx_mnt_id;
}

}  // namespace muster
