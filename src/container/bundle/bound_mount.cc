#include "container/bundle/bound_mount.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "base/fd.h"
#include "base/files/mounts.h"
#include "job/bound_path.h"

namespace muster::container {
namespace {

Result<Fd> open_without_links(const std::string& path) {
  struct open_how how {};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
  if (!fd) return fail_errno("cannot open " + path);
  return fd;
}

/// A detached mount of an open folder or file with all mounts inside it. `owners`: a user namespace
/// that translates owners; -1: none.
Result<Fd> clone_tree(const Fd& source, const std::string& path, bool writable, int owners) {
  Fd tree(::open_tree(source.get(), "",
                      AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return fail_errno("cannot open " + path);
  struct mount_attr change {};
  change.attr_set = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
  if (!writable) change.attr_set |= MOUNT_ATTR_RDONLY;
  if (owners >= 0) {
    change.attr_set |= MOUNT_ATTR_IDMAP;
    change.userns_fd = static_cast<std::uint64_t>(owners);
  }
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change)) != 0)
    return fail_errno(path);
  return tree;
}

Result<void> make_target(const std::string& target, bool folder) {
  if (folder) return make_folders(target);
  const Fd made(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made) return fail_errno("cannot create " + target);
  return {};
}

Result<Fd> writable_tree(const Fd& source, const job::BoundPath& bound, const IdMap& ids) {
  // Files that the host's root creates there then belong to the user, as intended.
  if (ids.rootless) return clone_tree(source, bound.outside, true, -1);
  // Without its own user namespace, a host's root could access the files of every owner.
  if (!ids)
    return fail(Errc::unsupported,
                bound.outside +
                    ": rw requires hosts with user namespaces, which this machine does not support "
                    "(see sm doctor); bind the path as :ro");
  const Fd owners = TRY(open_owner_map(bound.user, bound.group, ids.first));
  Result<Fd> tree = clone_tree(source, bound.outside, true, owners.get());
  if (tree) return tree;
  return fail(tree.error().code,
              tree.error().text +
                  ": rw is not possible, because the file system of this path, or a file system "
                  "mounted below it, does not support ID mapping; bind the path as :ro, or bind a "
                  "folder on ext4, xfs or btrfs");
}

}  // namespace

Result<std::string> mount_bound(const job::BoundPath& bound, const std::string& target,
                                const IdMap& ids, std::vector<std::string> private_folders) {
  job::Surroundings machine;
  machine.mounts = mounts_of(TRY(read_file("/proc/self/mountinfo")));
  machine.sockets = sockets_of(TRY(read_file("/proc/net/unix")));
  machine.private_folders = std::move(private_folders);
  TRY(job::check_outside(bound, machine));
  const Fd source = TRY(open_without_links(bound.outside));
  struct stat status {};
  if (::fstat(source.get(), &status) != 0) return fail_errno("cannot open " + bound.outside);
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
    return fail(Errc::invalid_input, bound.outside + ": neither a folder nor a file");
  if (bound.writable && (status.st_uid != bound.user || status.st_gid != bound.group))
    return fail(Errc::invalid_input,
                bound.outside + ": the owner changed after muster checked this path");

  std::string note;
  Result<Fd> tree = bound.writable ? writable_tree(source, bound, ids)
                                   : clone_tree(source, bound.outside, false, ids.user_namespace);
  if (!tree && !bound.writable && ids) {
    tree = clone_tree(source, bound.outside, false, -1);
    note = bound.outside + ": its file system, or one that is mounted in it, cannot translate " +
           "owners; hosts can read only its world-readable files";
  }
  if (!tree) return tree.error();
  TRY(make_target(target, S_ISDIR(status.st_mode)));
  if (::move_mount(tree->get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return fail_errno("cannot mount " + bound.outside);
  return note;
}

}  // namespace muster::container
