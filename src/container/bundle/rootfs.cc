#include "container/bundle/rootfs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files/folder.h"
#include "base/files/mount_id.h"
#include "base/process/cover_folder.h"
#include "base/text.h"
#include "container/bundle/host_skeleton.h"
#include "container/bundle/machine_mounts.h"

namespace muster::container {
namespace {

constexpr const char* machine_place = "/run/muster";
constexpr const char* host_place = "/run/muster/host";
constexpr unsigned passable = 0711;
constexpr std::string_view volatile_option = ",volatile";
constexpr std::size_t overlay_layers_max = 500;  ///< The kernel's, OVL_MAX_STACK.
/// What an overlay has to note on its files, in attributes that a user may set, too (Linux 5.11).
constexpr std::string_view user_attributes = ",userxattr";
constexpr std::size_t mount_options_bytes_max = 4095;  ///< Source: mount(2), one page with its NUL.

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path);
  return fd;
}

/// The kernel takes ',' and ':' in an overlay's paths for separators: it gets descriptors instead.
std::string by_descriptor(const Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

/// The kernel takes an overlay's options by the page: paths that are numbers from here take a third
/// of by_descriptor()'s, so that all the layers that it stacks fit.
class InDescriptors {
 public:
  static Result<InDescriptors> enter() {
    Fd before = TRY(open_folder("."));
    if (::chdir("/proc/self/fd") != 0) return fail_errno("cannot enter /proc/self/fd");
    return InDescriptors(std::move(before));
  }
  InDescriptors(InDescriptors&&) = default;
  InDescriptors& operator=(InDescriptors&&) = delete;
  ~InDescriptors() {
    if (before_) CHECK_THAT(::fchdir(before_.get()) == 0, "an open folder can be gone back to");
  }

 private:
  explicit InDescriptors(Fd before) : before_(std::move(before)) {}
  Fd before_;
};

bool is_overlay(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == OVERLAYFS_SUPER_MAGIC;
}

/// A mount of `source` of its own, nowhere yet.
Result<Fd> clone_mount(const std::string& source, const IdMap& ids, std::uint64_t attributes) {
  unsigned below = 0;
  Fd fd(::open_tree(AT_FDCWD, source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  // An ordinary user has what is mounted inside along, or nothing: it may cover a secret.
  if (!fd && errno == EINVAL && ids.rootless) {
    below = AT_RECURSIVE;
    fd = Fd(
        ::open_tree(AT_FDCWD, source.c_str(), AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  }
  if (!fd) return fail_errno("cannot open " + source);
  struct mount_attr change {};
  change.attr_set = attributes;
  if (ids) {
    change.attr_set |= MOUNT_ATTR_IDMAP;
    change.userns_fd = static_cast<std::uint64_t>(ids.user_namespace);
  }
  if (change.attr_set != 0 &&
      ::mount_setattr(fd.get(), "", AT_EMPTY_PATH | below, &change, sizeof(change)) != 0)
    return fail_errno("cannot translate the owners of " + source);
  return fd;
}

Result<void> attach(const Fd& mount, const std::string& target) {
  if (::move_mount(mount.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return fail_errno("cannot mount " + target);
  return {};
}

Result<void> make_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("cannot create " + path);
  return {};
}

std::string shown_machine() {
  return std::string(host_place) + "/machine";
}

/// `path` as show_machine() shows it; empty if that lies on another file system. One mount with
/// translated owners that others are made from costs a tenth of one for each of them.
Fd in_shown_machine(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd || ::access(shown_machine().c_str(), F_OK) != 0) return {};
  const std::optional<std::uint64_t> mount = mount_id(fd.get());
  if (!mount || mount != mount_id(AT_FDCWD, "/")) return {};
  std::error_code code;
  const std::string real = std::filesystem::read_symlink(by_descriptor(fd), code);
  if (code) return {};
  // The owner of a folder on the path may have replaced it since.
  Fd shown(::open((shown_machine() + real).c_str(), O_PATH | O_CLOEXEC));
  struct stat there {
  }, wanted{};
  if (!shown || ::fstat(shown.get(), &there) != 0 || ::fstat(fd.get(), &wanted) != 0) return {};
  if (there.st_dev != wanted.st_dev || there.st_ino != wanted.st_ino) return {};
  return shown;
}

std::string skeleton_place() {
  return std::string(host_place) + "/skeleton";
}

/// What an overlay may lie on for `lower`: something that is mounted. It keeps a mount of its own;
/// this one goes with the host's place, for each unmount waits for all processors of the machine.
/// `held` gets what has to stay open until then.
Result<std::string> lower_place(const std::string& lower, const IdMap& ids, std::vector<Fd>& held) {
  if (Fd shown = in_shown_machine(lower)) {
    held.push_back(std::move(shown));
    return by_descriptor(held.back());
  }
  if (!ids || lower == skeleton_place()) return lower;  // The skeleton is the host's root's.
  const std::string place = std::string(host_place) + "/lower-" + hex(random_bytes(6));
  TRY(make_folders(place));
  const Fd mount = TRY(clone_mount(lower, ids, 0));
  TRY(attach(mount, place));
  return place;
}

/// Folders as an overlay's options name them from within InDescriptors, the uppermost first.
struct Stack {
  std::vector<Fd> opened;
  std::string numbers;
};

/// The folders are `places`, the lowest first.
Result<Stack> open_stack(const std::vector<std::string>& places) {
  Stack stack;
  for (std::size_t i = places.size(); i-- > 0;) {
    Fd place = TRY(open_folder(places[i]));
    stack.numbers += (stack.numbers.empty() ? "" : ":") + std::to_string(place.get());
    stack.opened.push_back(std::move(place));
  }
  return stack;
}

/// Where there are more layers than an overlay takes, the lowest of them as one, by an overlay that
/// the other one lies on; the kernel has two such storeys. It has to be the lowest: what a layer
/// hides of those below is not seen of an overlay that it is in.
Result<std::vector<std::string>> within_limit(std::vector<std::string> places, const IdMap& ids) {
  if (places.size() <= overlay_layers_max) return places;
  const auto rest = places.end() - static_cast<std::ptrdiff_t>(overlay_layers_max - 1);
  const std::vector<std::string> lowest(places.begin(), rest);
  const std::string target = std::string(host_place) + "/lowest-" + hex(random_bytes(6));
  TRY(make_folders(target));
  const Stack stack = TRY(open_stack(lowest));
  std::string options = "lowerdir=" + stack.numbers;
  if (ids.rootless) options += user_attributes;
  const InDescriptors here = TRY(InDescriptors::enter());
  if (::mount("muster", target.c_str(), "overlay", MS_NODEV | MS_NOSUID, options.c_str()) != 0)
    return fail_errno("cannot mount the lowest " + std::to_string(lowest.size()) + " layers");
  places.erase(places.begin(), rest);
  places.insert(places.begin(), target);
  return places;
}

/// An overlay of `lowers`, the lowest first, at `target`, which is made.
Result<void> mount_stack(const std::vector<std::string>& lowers, const std::string& layer,
                         const std::string& target, const IdMap& ids) {
  TRY(make_folders(target));
  for (const char* part : {"/upper", "/work"}) {
    TRY(make_folders(layer + part));
    TRY(give(layer + part, ids));
  }
  std::vector<std::string> places;
  std::vector<Fd> held;
  for (const std::string& lower : lowers) {
    std::string place = TRY(lower_place(lower, ids, held));
    places.push_back(std::move(place));
  }
  places = TRY(within_limit(std::move(places), ids));
  const Stack stack = TRY(open_stack(places));
  const Fd upper_fd = TRY(open_folder(layer + "/upper"));
  const Fd work_fd = TRY(open_folder(layer + "/work"));
  std::string options = "lowerdir=" + stack.numbers +
                        ",upperdir=" + std::to_string(upper_fd.get()) +
                        ",workdir=" + std::to_string(work_fd.get());
  if (ids.rootless) options += user_attributes;
  if (options.size() + volatile_option.size() >= mount_options_bytes_max)
    return fail(Errc::invalid_input,
                std::to_string(lowers.size()) + " layers exceed the limit of one mount");
  const InDescriptors here = TRY(InDescriptors::enter());
  constexpr unsigned long flags = MS_NODEV | MS_NOSUID;
  // What a host writes there is thrown away at its end: no need to sync it (Linux 5.10 and later).
  int made = ::mount("muster", target.c_str(), "overlay", flags,
                     (options + std::string(volatile_option)).c_str());
  if (made != 0 && errno == EINVAL)
    made = ::mount("muster", target.c_str(), "overlay", flags, options.c_str());
  if (made != 0) return fail_errno("cannot mount");
  return {};
}

}  // namespace

Result<void> mount_host_place() {
  TRY(make_folders(host_place));
  for (const char* folder : {machine_place, host_place})
    if (::chmod(folder, passable) != 0)
      return fail_errno(std::string("cannot change the mode of ") + folder);
  if (::mount("muster", host_place, "tmpfs", MS_NODEV | MS_NOSUID, "mode=711") != 0)
    return fail_errno(std::string("cannot mount a tmpfs at ") + host_place);
  return {};
}

void unmount_host_place() {
  unmount(host_place);
}

std::string host_root() {
  return std::string(host_place) + "/root";
}

std::string shown_place(std::size_t number) {
  return std::string(host_place) + "/shown-" + std::to_string(number);
}

Result<void> make_layers(const std::string& folder) {
  TRY(make_folders(folder));
  if (!is_overlay(folder)) return {};
  return mount_tmpfs(folder);
}

Result<void> mount_overlay(const std::string& lower, const std::string& layer,
                           const std::string& target, const IdMap& ids) {
  Result<void> mounted = mount_stack({lower}, layer, target, ids);
  if (!mounted) return mounted.error().in("overlay of " + lower + " at " + target);
  return mounted;
}

Result<void> mount_image_root(const std::vector<std::string>& layers, const std::string& layer,
                              const IdMap& ids) {
  Result<void> mounted = mount_stack(layers, layer, host_root(), ids);
  if (!mounted) return mounted.error().in("the image's layers");
  return mounted;
}

namespace {

/// A file or folder below `root`, links followed as a process there would; empty if there is none.
Fd open_in_root(const Fd& root, const std::string& path, std::uint64_t flags) {
  struct open_how how {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

}  // namespace

Result<std::string> read_in_root(const std::string& root, const std::string& path,
                                 std::size_t size_max) {
  const Fd folder = TRY(open_folder(root));
  const Fd file = open_in_root(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return fail_errno("cannot open " + path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::invalid_input, path + ": not a regular file");
  if (info.st_size > static_cast<off_t>(size_max))
    return fail(Errc::invalid_input,
                path + ": exceeds the limit of " + std::to_string(size_max) + " bytes");
  return read_file(by_descriptor(file), size_max);
}

Result<void> show_machine(const IdMap& ids) {
  TRY(make_folders(shown_machine()));
  const Fd machine =
      TRY(clone_mount("/", ids, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID));
  return attach(machine, shown_machine());
}

Result<void> mount_bind(const std::string& source, const std::string& target, const IdMap& ids,
                        Showing showing) {
  struct stat info {};
  if (::stat(source.c_str(), &info) != 0) return fail_errno("cannot open " + source);
  TRY(S_ISDIR(info.st_mode) ? make_folders(target) : make_file(target));
  if (showing.read_only && showing.translated)
    if (const Fd shown = in_shown_machine(source)) {
      if (::mount(by_descriptor(shown).c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0)
        return {};
      return fail_errno("cannot mount " + target);
    }
  std::uint64_t attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
  if (showing.read_only) attributes |= MOUNT_ATTR_RDONLY;
  const Fd mount = TRY(clone_mount(source, showing.translated ? ids : IdMap{}, attributes));
  return attach(mount, target);
}

Result<void> mount_device(const job::DeviceNode& node, const std::string& target) {
  struct stat info {};
  if (::stat(node.outside.c_str(), &info) != 0) return fail_errno("cannot open " + node.outside);
  if (!S_ISCHR(info.st_mode) || node.major != ::major(info.st_rdev) ||
      node.minor != ::minor(info.st_rdev))
    return fail(Errc::system, node.outside + ": is no longer the device " +
                                  std::to_string(node.major) + ":" + std::to_string(node.minor) +
                                  " that was chosen for the host");
  struct statvfs place {};
  if (::statvfs(node.outside.c_str(), &place) != 0)
    return fail_errno("cannot examine the file system of " + node.outside);
  if ((place.f_flag & ST_NODEV) != 0)
    return fail(Errc::system, node.outside + " is on a file system that is mounted with nodev");
  TRY(make_file(target));
  const Fd mount = TRY(clone_mount(node.outside, IdMap{},
                                   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  return attach(mount, target);
}

Result<void> mount_read_only(const std::string& source, const std::string& target,
                             const IdMap& ids) {
  Result<void> shown = mount_bind(source, target, ids, {});
  // A file system whose owners cannot be translated: a host sees of it what anybody may read.
  if (!shown && ids) shown = mount_bind(source, target, ids, {.translated = false});
  return shown;
}

namespace {

/// A rootless runtime can make no mount points in folders of the machine's root. One that is in the
/// upper layer already is the host's own, with all that the machine has in it.
Result<void> own_programs_folder(const std::string& tree, const std::string& layer) {
  const std::string folder = programs_folder;
  return is_in(folder, tree) ? make_folders(layer + "/upper" + folder.substr(tree.size()))
                             : Result<void>();
}

/// Views of the machine's folders at their own path in the host, writable.
class Trees {
 public:
  /// `points`: where the machine has something mounted. The constructor's arguments outlive this.
  Trees(const std::vector<std::string>& points, const std::string& layers, const IdMap& ids)
      : points_(points), layers_(layers), ids_(ids) {}

  Result<void> mount(const std::string& tree) {
    const std::string layer = layers_ + "/" + std::to_string(number_++);
    if (ids_.rootless) TRY(own_programs_folder(tree, layer));
    return mount_overlay(tree, layer, host_root() + tree, ids_);
  }

  /// The folders in `tree`, which shows read-only, as far as nothing is mounted in them. An
  /// ordinary user can lay no overlay over what is mounted inside: it may cover a secret.
  void mount_parts(const std::string& tree) {
    for (const std::string& name : names_in(tree).value_or(std::vector<std::string>())) {
      const std::string path = tree + "/" + name;
      struct stat info {};
      if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
      if (std::find(points_.begin(), points_.end(), path) != points_.end()) continue;
      if (has_mounts_inside(path, points_))
        mount_parts(path);
      else
        static_cast<void>(mount(path));  // Without an overlay the folder stays read-only.
    }
  }

 private:
  const std::vector<std::string>& points_;
  const std::string& layers_;
  const IdMap& ids_;
  std::size_t number_ = 0;
};

/// The host's root, less what is mounted in it. In memory there is the skeleton alone: a file
/// system takes longer for as many small files, and as long to remove them.
Result<void> mount_skeleton(const std::string& layers, const IdMap& ids) {
  Result<void> mounted = mount_overlay(skeleton_place(), layers + "/top", host_root(), ids);
  if (mounted || ids) return mounted;
  return mount_bind(skeleton_place(), host_root(), ids, {.read_only = false});
}

}  // namespace

Result<std::vector<std::string>> mount_host_root(const RootView& view, const std::string& layers,
                                                 const IdMap& ids) {
  const std::vector<std::string> points = mount_points(TRY(read_file("/proc/self/mountinfo")));
  std::vector<std::string> read_only = TRY(make_skeleton(view, skeleton_place(), ids));
  read_only.insert(read_only.end(), view.programs.begin(), view.programs.end());
  TRY(mount_skeleton(layers, ids));
  std::vector<std::string> said;
  Trees trees(points, layers, ids);
  for (const std::string& tree : view.trees) {
    const Result<void> mounted = trees.mount(tree);
    if (mounted) continue;
    // Not one tree's fault then: no overlay of this kernel's lies on translated owners.
    if (ids && tree == "/usr") return mounted.error();
    TRY(mount_read_only(tree, host_root() + tree, ids));
    if (ids.rootless && has_mounts_inside(tree, points)) {
      trees.mount_parts(tree);
      said.push_back(
          tree + " is read-only in the host, except for folders in it that contain no mounts: " +
          "another file system is mounted inside it");
    } else {
      said.push_back(tree + " is read-only in the host: " + mounted.error().text);
    }
  }
  for (const std::string& path : read_only) TRY(mount_read_only(path, host_root() + path, ids));
  return said;
}

Result<void> make_room(const std::string& target, const std::string& layer, const IdMap& ids) {
  const Fd root = TRY(open_folder(host_root()));
  std::string above = target;
  Fd found = open_in_root(root, above, O_PATH);
  while (!found && above.size() > 1) {
    above.resize(std::max<std::size_t>(above.rfind('/'), 1));
    found = open_in_root(root, above, O_PATH);
  }
  if (above == target) return {};
  if (!found) return fail_errno(host_root());
  std::error_code code;
  const std::string folder = std::filesystem::read_symlink(by_descriptor(found), code);
  if (code) return fail(Errc::system, target + ": " + code.message());
  if (::access(folder.c_str(), W_OK) == 0) return {};
  const std::vector<std::string> points = mount_points(TRY(read_file("/proc/self/mountinfo")));
  const std::string own = folder.substr(host_root().size());  // What is read-only has its own path.
  Result<void> made;
  if (has_mounts_inside(folder, points) || !mount_overlay(own, layer, folder, ids))
    made = cover_folder(folder, {});
  if (made) made = give(folder, ids);
  if (!made)
    return made.error().in("cannot create " + target + " in " + own + ", which is read-only here");
  return {};
}

Result<void> mount_tmpfs(const std::string& target) {
  TRY(make_folders(target));
  if (::mount("muster", target.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=755") != 0)
    return fail_errno("cannot mount a tmpfs at " + target);
  return {};
}

void unmount(const std::string& target) {
  // Private mounts below go along with a lazy unmount.
  while (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
}

}  // namespace muster::container
