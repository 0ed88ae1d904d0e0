#include "image/layers/disk_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

constexpr std::uint64_t stat_block_bytes = 512;  ///< Source: stat(2), st_blocks.

std::uint64_t bytes_of(const struct stat& status) {
  const auto bytes = static_cast<std::uint64_t>(status.st_blocks) * stat_block_bytes;
  return S_ISDIR(status.st_mode) ? bytes : bytes / std::max<nlink_t>(status.st_nlink, 1);
}

Result<std::uint64_t> bytes_below(int parent, const char* name) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return fail_errno(packing::shown(name));
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd.get()), ::closedir);
  if (!folder) return fail_errno(packing::shown(name));
  const int number = fd.release();
  std::uint64_t bytes = bytes_of(status);
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view own = entry->d_name;
    if (own == "." || own == "..") continue;
    if (::fstatat(number, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(packing::shown(own));
    bytes += S_ISDIR(status.st_mode) ? TRY(bytes_below(number, entry->d_name)) : bytes_of(status);
  }
  return bytes;
}

}  // namespace

Result<std::uint64_t> disk_use(const std::string& folder) {
  return bytes_below(AT_FDCWD, folder.c_str());
}

}  // namespace muster::image
