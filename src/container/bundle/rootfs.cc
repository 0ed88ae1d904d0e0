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
/// Makes an overlay store its notes in extended attributes that ordinary users can set, too (Linux
/// 5.11).
constexpr std::string_view user_attributes = ",userxattr";
constexpr std::size_t mount_options_bytes_max = 4095;  ///< Source: mount(2), one page with its NUL.

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path);
  return fd;
}

/// The kernel treats ',' and ':' in an overlay's paths as separators, so paths are passed as
/// descriptors.
std::string by_descriptor(const Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

/// An overlay's options must fit into one page. Paths that are numbers, relative to this folder,
/// need a third of the space of by_descriptor()'s, so the maximum number of layers fits.
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

/// A detached mount of `source`.
Result<Fd> clone_mount(const std::string& source, const IdMap& ids, std::uint64_t attributes) {
  unsigned below = 0;
  Fd fd(::open_tree(AT_FDCWD, source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  // An ordinary user can mount only a complete mount tree, because an inner mount may hide a
  // secret.
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
    return fail_errno("cannot map the owners of the files in " + source);
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

/// `path` in the mount of show_machine(); empty if it is on another file system. Deriving mounts
/// from one mount with translated owners costs a tenth of translating owners for each of them.
Fd in_shown_machine(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd || ::access(shown_machine().c_str(), F_OK) != 0) return {};
  const std::optional<std::uint64_t> mount = mount_id(fd.get());
  if (!mount || mount != mount_id(AT_FDCWD, "/")) return {};
  std::error_code code;
  const std::string real = std::filesystem::read_symlink(by_descriptor(fd), code);
  if (code) return {};
  // The owner of a parent folder may have replaced it in the meantime.
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

/// The lower folder of an overlay for `lower`, which must be a mount. The overlay keeps its own
/// mount; this one disappears with the host's root, because each unmount waits for all processors.
/// `held` receives the descriptors that must stay open until then.
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

/// The folders in an overlay's options, relative to InDescriptors, uppermost first.
struct Stack {
  std::vector<Fd> opened;
  std::string numbers;
};

/// `places`: the folders, lowest first.
Result<Stack> open_stack(const std::vector<std::string>& places) {
  Stack stack;
  for (std::size_t i = places.size(); i-- > 0;) {
    Fd place = TRY(open_folder(places[i]));
    stack.numbers += (stack.numbers.empty() ? "" : ":") + std::to_string(place.get());
    stack.opened.push_back(std::move(place));
  }
  return stack;
}

/// If there are more layers than an overlay supports, combines the lowest ones in a second overlay
/// below the first; the kernel allows two levels. They must be the lowest ones, because a layer
/// hides entries only of lower layers in the same overlay.
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

/// Mounts an overlay of `lowers`, lowest first, at `target`, which is created.
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
                std::to_string(lowers.size()) + " layers exceed the limit for a single mount");
  const InDescriptors here = TRY(InDescriptors::enter());
  constexpr unsigned long flags = MS_NODEV | MS_NOSUID;
  // A host's writes are deleted when it ends, so they need not be synced (Linux 5.10 and later).
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

/// A file or folder below `root`; links are resolved as for a process in that root. Empty if it
/// does not exist.
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
    return fail(Errc::system, node.outside + " is no longer the device " +
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
  // The file system cannot translate owners, so the host can read only files that all users can
  // read.
  if (!shown && ids) shown = mount_bind(source, target, ids, {.translated = false});
  return shown;
}

namespace {

/// A rootless runtime cannot create mount points in folders of the machine's root user. A folder
/// that already exists in the upper layer belongs to the host, and contains all entries of the
/// machine's folder.
Result<void> own_programs_folder(const std::string& tree, const std::string& layer) {
  const std::string folder = programs_folder;
  return is_in(folder, tree) ? make_folders(layer + "/upper" + folder.substr(tree.size()))
                             : Result<void>();
}

/// Writable overlays of the machine's folders, at the same paths in the host.
class Trees {
 public:
  /// `points`: the machine's mount points. The constructor's arguments outlive this object.
  Trees(const std::vector<std::string>& points, const std::string& layers, const IdMap& ids)
      : points_(points), layers_(layers), ids_(ids) {}

  Result<void> mount(const std::string& tree) {
    const std::string layer = layers_ + "/" + std::to_string(number_++);
    if (ids_.rootless) TRY(own_programs_folder(tree, layer));
    return mount_overlay(tree, layer, host_root() + tree, ids_);
  }

  /// Mounts overlays over the folders in the read-only `tree` that contain no mounts. An ordinary
  /// user cannot mount an overlay over a folder with mounts, which may hide a secret.
  void mount_parts(const std::string& tree) {
    for (const std::string& name : names_in(tree).value_or(std::vector<std::string>())) {
      const std::string path = tree + "/" + name;
      struct stat info {};
      if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
      if (std::find(points_.begin(), points_.end(), path) != points_.end()) continue;
      if (has_mounts_inside(path, points_))
        mount_parts(path);
      else
        static_cast<void>(mount(path));  // If the overlay fails, the folder stays read-only.
    }
  }

 private:
  const std::vector<std::string>& points_;
  const std::string& layers_;
  const IdMap& ids_;
  std::size_t number_ = 0;
};

/// The host's root without its mounts. Only the skeleton is in memory, because creating and
/// removing its many small files on disk takes longer.
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
    // The cause is then not a single tree: this kernel does not support overlays with translated
    // owners.
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
  const std::string own = folder.substr(host_root().size());  // The path on the machine.
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
  // A lazy unmount also removes the private mounts below.
  while (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
}

}  // namespace muster::container
