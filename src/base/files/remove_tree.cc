#include "base/files/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/files/mount_id.h"
#include "base/text.h"

namespace muster {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

constexpr int depth_max = 64;  ///< One descriptor a level.
constexpr std::size_t shown_max = 200;
constexpr int open_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

Folder open_folder(int parent, const char* name) {
  Fd fd(::openat(parent, name, open_flags));
  Folder folder(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (folder) static_cast<void>(fd.release());
  return folder;
}

class Removal {
 public:
  Removal(int parent, const std::string& name) : parent_(parent), path_(name) {}

  Result<void> run() {
    if (::unlinkat(parent_, path_.c_str(), 0) == 0 || errno == ENOENT) return {};
    const std::string name = path_;
    const std::optional<std::uint64_t> mount = mount_id(parent_);
    if (!mount) return fail_errno(path_);
    mount_ = *mount;
    do {
      moved_ = 0;
      remove(parent_, name.c_str(), 0);
    } while (moved_ > 0);
    if (failed_) return *failed_;
    return {};
  }

 private:
  void note(const char* why = nullptr) {
    if (failed_ || errno == ENOENT) return;
    const std::string shown = to_utf8(path_.substr(0, shown_max));
    const std::string path = shown + (path_.size() > shown_max ? "..." : "");
    if (why == nullptr && errno == EBUSY) why = "something is mounted there; not removed";
    failed_ = why == nullptr ? fail_errno(path) : fail(Errc::system, path + ": " + why);
  }

  void remove(int parent, const char* name, int depth) {
    if (::unlinkat(parent, name, 0) == 0) return;
    if (errno != EISDIR && errno != EPERM) return note();
    const int why = errno;
    if (::unlinkat(parent, name, AT_REMOVEDIR) == 0) return;
    if (errno == ENOTDIR) errno = why;
    if (errno != ENOTEMPTY && errno != EEXIST) return note();
    if (depth == depth_max) return move_up(parent, name);
    const Folder folder = open_folder(parent, name);
    if (!folder) return note();
    const int fd = ::dirfd(folder.get());
    const std::optional<std::uint64_t> mount = mount_id(fd);
    if (!mount) return note();
    if (*mount != mount_) return note("something is mounted there; not removed");
    static_cast<void>(::fchmod(fd, 0700));  // A folder of ours may be read-only.
    if (depth == 0) top_ = fd;
    empty(folder.get(), depth);
    // What was moved up into the topmost folder is for the next round.
    if (::unlinkat(parent, name, AT_REMOVEDIR) != 0 && (depth > 0 || moved_ == 0)) note();
  }

  void empty(DIR* folder, int depth) {
    const std::size_t own = path_.size();
    while (const dirent* entry = ::readdir(folder)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      path_.append("/").append(name);
      remove(::dirfd(folder), entry->d_name, depth + 1);
      path_.resize(own);
    }
  }

  /// An unpredictable name: the owner of the folders must not choose which file is replaced.
  void move_up(int parent, const char* name) {
    const std::string to = mark_ + std::to_string(++names_);
    if (::renameat(parent, name, top_, to.c_str()) != 0) return note();
    ++moved_;
  }

  int parent_;
  std::string path_;  ///< The current position of the walk, for messages.
  std::uint64_t mount_ = 0;
  int top_ = -1;  ///< The topmost folder; what lies too deep is moved into it.
  const std::string mark_ = ".muster-going-" + hex(random_bytes(8)) + "-";
  std::uint64_t names_ = 0;
  std::uint64_t moved_ = 0;  ///< In this round.
  std::optional<Error> failed_;
};

}  // namespace

Result<void> remove_tree(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return fail(Errc::invalid_input, "'" + path + "' is not a folder");
  const std::size_t slash = path.rfind('/', end);
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd parent(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent && errno == ENOENT) return {};
  if (!parent) return fail_errno("cannot open " + above);
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  Result<void> removed = remove_tree_at(parent.get(), path.substr(start, end + 1 - start));
  if (removed || slash == std::string::npos) return removed;
  return Error{removed.error().code, above + removed.error().text};
}

Result<void> remove_tree_at(int folder, const std::string& name) {
  if (name == "." || name == "..")
    return fail(Errc::invalid_input, "'" + name + "' is not a folder that can be removed");
  return Removal(folder, name).run();
}

}  // namespace muster
