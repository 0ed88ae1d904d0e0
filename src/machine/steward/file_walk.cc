#include "machine/steward/file_walk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/files/below.h"
#include "base/files/folder.h"

namespace muster::steward {

Stamp stamp_of(const struct stat& status) {
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size),
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Fd open_below(int root, const std::string& relative, int flags) {
  errno = ENAMETOOLONG;
  if (std::ranges::count(relative, '/') > FileWalk::depth_max) return Fd();
  return Below(root).open(relative, flags);
}

FileWalk::FileWalk(int root, std::string start) : root_(root), path_(std::move(start)) {}

/// Skips an entry that was deleted meanwhile, or replaced by a link.
void FileWalk::enter() {
  const std::string name = path_.substr(path_.rfind('/') + 1);
  Fd fd = levels_.empty() ? open_below(root_, path_, O_RDONLY | O_DIRECTORY)
                          : open_folder(::dirfd(levels_.back().stream.get()), name);
  std::unique_ptr<DIR, Close> stream(fd ? ::fdopendir(fd.get()) : nullptr);
  if (!stream) return;
  static_cast<void>(fd.release());
  levels_.push_back({std::move(stream), path_.size()});
}

/// The entry at `path_`, unless it is neither a folder nor a file.
std::optional<FileWalk::Found> FileWalk::found(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return Found{.path = path_, .stamp = stamp_of(status)};
  if (!S_ISDIR(status.st_mode)) return std::nullopt;
  const bool is_too_deep = std::ranges::count(path_, '/') >= depth_max;
  is_to_enter_ = !is_too_deep;
  return Found{.path = path_, .is_folder = true, .is_too_deep = is_too_deep};
}

std::optional<FileWalk::Found> FileWalk::next() {
  if (!std::exchange(begun_, true)) {
    struct stat folder {};
    folder.st_mode = S_IFDIR;
    return found(folder);
  }
  if (std::exchange(is_to_enter_, false)) enter();
  while (!levels_.empty()) {
    const Level& level = levels_.back();
    path_.resize(level.path_bytes);
    const dirent* entry = ::readdir(level.stream.get());
    if (entry == nullptr) {
      levels_.pop_back();
      continue;
    }
    const std::string_view name = entry->d_name;
    struct stat status {};
    if (name == "." || name == ".." ||
        ::fstatat(::dirfd(level.stream.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (std::optional<Found> is_there = found(status)) return is_there;
  }
  return std::nullopt;
}

}  // namespace muster::steward
