#include "engine/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace muster::engine {
namespace {

constexpr int depth_max = 512;  ///< One descriptor a level.

Result<std::uint64_t> mount_of(int folder) {
  struct statx status {};
  if (::statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return fail_errno("statx");
  return status.stx_mnt_id;
}

Result<std::vector<std::string>> names_in(int folder) {
  Fd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return fail_errno("open");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again.get()), ::closedir);
  if (!stream) return fail_errno("read");
  static_cast<void>(again.release());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<void> remove_at(int parent, const std::string& name, std::optional<std::uint64_t> mount,
                       const std::string& path, int depth) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return fail_errno(path);
  if (depth > depth_max) return fail(Errc::system, path + ": folders are too deep");
  {
    Fd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return fail_errno(path);
    const std::uint64_t own_mount = TRY(mount_of(folder.get()));
    if (mount && own_mount != *mount)
      return fail(Errc::system, path + ": something is mounted there; not removed");
    for (const std::string& entry : TRY(names_in(folder.get())))
      TRY(remove_at(folder.get(), entry, own_mount, path + "/" + entry, depth + 1));
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail_errno(path);
  return {};
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
  return remove_at(AT_FDCWD, path, std::nullopt, path, 0);
}

}  // namespace muster::engine
