#include "base/files/clean_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/files/mount_id.h"
#include "base/files/remove_tree.h"
#include "base/text.h"

namespace muster {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;
using Status = struct stat;

constexpr int depth_max = 128;
constexpr std::size_t path_max = 3072;
constexpr std::size_t lines_max = 20;
constexpr std::size_t shown_max = 200;
constexpr int open_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr mode_t plain_bits = 0777;
constexpr mode_t special_bits = 07000;

/// A name that a stranger chose, for a line of a log.
std::string shown(const std::string& path) {
  std::string text = to_utf8(path.substr(0, shown_max)) + (path.size() > shown_max ? "..." : "");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
  return text;
}

class Cleaning {
 public:
  Cleaning(std::string root, Owner owner) : root_(std::move(root)), owner_(owner) {}

  Result<LeftOut> run() {
    Fd fd(::open(root_.c_str(), open_flags | O_DIRECTORY));
    const std::optional<std::uint64_t> mount = fd ? mount_id(fd.get()) : std::nullopt;
    if (!mount) return fail_errno(root_);
    mount_ = *mount;
    TRY(folder(std::move(fd), 0));
    return std::move(left_out_);
  }

 private:
  Error failure() const { return fail_errno(root_ + "/" + shown(path_)); }

  void leave_out(const char* why) {
    if (left_out_.lines.size() == lines_max)
      ++left_out_.more;
    else
      left_out_.lines.push_back(shown(path_) + ": " + why);
  }

  Result<void> remove(int parent, const std::string& name, const char* why) {
    leave_out(why);
    const Result<void> removed = remove_tree_at(parent, name);
    if (!removed) return removed.error().in(root_);
    return {};
  }

  Result<void> folder(Fd fd, int depth) {
    const Folder stream(::fdopendir(fd.get()), ::closedir);
    if (!stream) return failure();
    const int own = fd.release();
    const std::size_t length = path_.size();
    while (const dirent* found = ::readdir(stream.get())) {
      const std::string name = found->d_name;
      if (name == "." || name == "..") continue;
      path_.append(length == 0 ? "" : "/").append(name);
      TRY(entry(own, name, depth + 1));
      path_.resize(length);
    }
    return dress(own);
  }

  Result<void> entry(int parent, const std::string& name, int depth) {
    Status status{};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return failure();
    if (path_.size() > path_max) return remove(parent, name, "its path is longer than 3072 bytes");
    if (S_ISLNK(status.st_mode)) {
      if (owns(status) ||
          ::fchownat(parent, name.c_str(), owner_.user, owner_.group, AT_SYMLINK_NOFOLLOW) == 0)
        return {};
      return failure();
    }
    const bool is_folder = S_ISDIR(status.st_mode);
    if (!is_folder && !S_ISREG(status.st_mode))
      return remove(parent, name, "neither a file nor a folder nor a link");
    if (is_folder && depth > depth_max)
      return remove(parent, name, "it is more than 128 folders deep");
    Fd fd(::openat(parent, name.c_str(), open_flags | (is_folder ? O_DIRECTORY : 0)));
    if (!fd) return failure();
    const std::optional<std::uint64_t> mount = mount_id(fd.get());
    if (!mount) return failure();
    if (*mount != mount_) {
      errno = EBUSY;
      return failure();
    }
    if (is_folder) return folder(std::move(fd), depth);
    return dress(fd.get());
  }

  bool owns(const Status& status) const {
    return status.st_uid == owner_.user && status.st_gid == owner_.group;
  }

  /// Attributes first: a list of access rules may stand in what the mode seems to be.
  Result<void> dress(int fd) {
    TRY(strip_attributes(fd));
    Status status{};
    if (::fstat(fd, &status) != 0) return failure();
    if (!owns(status) && ::fchown(fd, owner_.user, owner_.group) != 0) return failure();
    if ((status.st_mode & special_bits) != 0 && ::fchmod(fd, status.st_mode & plain_bits) != 0)
      return failure();
    return {};
  }

  Result<void> strip_attributes(int fd) {
    ssize_t size = ::flistxattr(fd, nullptr, 0);
    if (size == 0 || (size < 0 && errno == EOPNOTSUPP)) return {};
    if (size < 0) return failure();
    std::string names(static_cast<std::size_t>(size), '\0');
    size = ::flistxattr(fd, names.data(), names.size());
    if (size < 0) return failure();
    names.resize(static_cast<std::size_t>(size));
    for (const std::string& name : split(names, '\0')) {
      if (name.empty() || name.starts_with("user.")) continue;
      // Labels of the machine's own may refuse to go; what lends rights must.
      const bool lends = name == "security.capability" || name.starts_with("system.posix_acl_");
      if (::fremovexattr(fd, name.c_str()) != 0 && lends && errno != ENODATA) return failure();
    }
    return {};
  }

  const std::string root_;
  const Owner owner_;
  std::string path_;  ///< Below the root: the current position of the walk.
  std::uint64_t mount_ = 0;
  LeftOut left_out_;
};

}  // namespace

Result<LeftOut> clean_tree(const std::string& path, Owner owner) {
  return Cleaning(path, owner).run();
}

}  // namespace muster
