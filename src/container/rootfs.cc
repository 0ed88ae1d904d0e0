#include "container/rootfs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace muster::container {
namespace {

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(path);
  return fd;
}

/// The kernel takes ',' and ':' in an overlay's paths for separators: it gets descriptors instead.
std::string by_descriptor(const Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

bool is_overlay(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == OVERLAYFS_SUPER_MAGIC;
}

}  // namespace

Result<void> enter_private_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return fail_errno("a mount namespace of our own");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail_errno("making mounts private");
  return {};
}

Result<void> mount_overlay(const std::string& lower, const std::string& layer,
                           const std::string& target) {
  TRY(make_folders(layer + "/upper"));
  TRY(make_folders(layer + "/work"));
  TRY(make_folders(target));
  const Fd lower_fd = TRY(open_folder(lower));
  const Fd upper_fd = TRY(open_folder(layer + "/upper"));
  const Fd work_fd = TRY(open_folder(layer + "/work"));
  const std::string options = "lowerdir=" + by_descriptor(lower_fd) +
                              ",upperdir=" + by_descriptor(upper_fd) +
                              ",workdir=" + by_descriptor(work_fd);
  // What a host writes there is thrown away at its end: no need to sync it (Linux 5.10 and later).
  if (::mount("muster", target.c_str(), "overlay", 0, (options + ",volatile").c_str()) == 0)
    return {};
  if (errno == EINVAL && ::mount("muster", target.c_str(), "overlay", 0, options.c_str()) == 0)
    return {};
  return fail_errno("overlay of " + lower + " at " + target);
}

Result<void> mount_tmpfs(const std::string& target) {
  TRY(make_folders(target));
  if (::mount("muster", target.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=755") != 0)
    return fail_errno("tmpfs at " + target);
  return {};
}

void unmount(const std::string& target) {
  // Private mounts below go along with a lazy unmount.
  while (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
}

Result<void> mount_machine_root(const std::string& layer, const std::string& target) {
  TRY(make_folders(layer));
  if (!is_overlay(layer)) {
    Result<void> mounted = mount_overlay("/", layer, target);
    if (mounted || errno != EINVAL) return mounted;
  }
  TRY(mount_tmpfs(layer));
  return mount_overlay("/", layer, target);
}

}  // namespace muster::container
