#include "machine/housing/copy_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/files/copy_bytes.h"
#include "base/files/each_name.h"
#include "base/files/folder.h"

namespace muster::steward {
namespace {

constexpr int depth_max = 128;
using Status = struct stat;
using Wanted = std::function<bool(const std::string&)>;

struct Copying {
  const Wanted& wanted;
  const int links;
};

int copy_link(int from, int to, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size());
  if (size < 0) return errno;
  target.resize(static_cast<std::size_t>(size));
  return ::symlinkat(target.c_str(), to, name.c_str()) == 0 ? 0 : errno;
}

int copy_file(int from, int to, const std::string& name) {
  const Fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  Status status{};
  if (!source || ::fstat(source.get(), &status) != 0) return errno;
  const Fd target(::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return errno;
  errno = 0;
  if (!copy_bytes(source.get(), target.get(), name)) return errno != 0 ? errno : EIO;
  copy_user_attributes(source.get(), target.get());
  dress_copy(target, status);
  return 0;
}

int copy_single(int from, int to, const std::string& name, const Status& status) {
  return S_ISLNK(status.st_mode) ? copy_link(from, to, name) : copy_file(from, to, name);
}

/// A file of several names: the folder `links` remembers it, instead of our memory.
int copy_shared(int from, int to, const std::string& name, const Status& status, int links) {
  const std::string number = std::to_string(status.st_ino);
  if (::linkat(links, number.c_str(), to, name.c_str(), 0) == 0) return 0;
  if (errno == EMLINK) ::unlinkat(links, number.c_str(), 0);  // Further names get a further copy.
  if (errno != EMLINK && errno != ENOENT) return errno;
  if (const int wrong = copy_single(from, to, name, status)) return wrong;
  // Where the file system knows no such names, the next name becomes a copy, too.
  const bool is_noted = ::linkat(to, name.c_str(), links, number.c_str(), 0) == 0;
  return is_noted || errno != ENOSPC ? 0 : errno;
}

int copy_folder(int from, int to, const Copying& copying, int depth);

int copy_entry(int from, int to, const std::string& name, const Copying& copying, int depth) {
  Status status{};
  if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISLNK(status.st_mode) || S_ISREG(status.st_mode))
    return copying.links >= 0 && status.st_nlink > 1
               ? copy_shared(from, to, name, status, copying.links)
               : copy_single(from, to, name, status);
  if (!S_ISDIR(status.st_mode)) return 0;
  const Fd inner = open_folder(from, name);
  if (!inner || ::mkdirat(to, name.c_str(), 0700) != 0) return errno;
  const Fd made = open_folder(to, name);
  if (!made) return errno;
  const int wrong = copy_folder(inner.get(), made.get(), copying, depth + 1);
  copy_user_attributes(inner.get(), made.get());
  dress_copy(made, status);
  return wrong;
}

int copy_folder(int from, int to, const Copying& copying, int depth) {
  if (depth > depth_max) return ELOOP;
  int wrong = 0;
  errno = 0;
  const Result<void> listed = each_name(open_folder(from, "."), "", [&](const std::string& name) {
    if (copying.wanted(name)) wrong = copy_entry(from, to, name, copying, depth);
    if (wrong == ENOENT) wrong = 0;  // Another host may have created it meanwhile.
    return wrong == 0;
  });
  if (!listed) return errno != 0 ? errno : EIO;
  return wrong;
}

}  // namespace

int copy_tree(int from, int to, const std::function<bool(const std::string& name)>& wanted,
              int links) {
  return copy_folder(from, to, {wanted, links}, 0);
}

void dress_copy(const Fd& fd, const struct stat& status) {
  const timespec times[2] = {status.st_mtim, status.st_mtim};
  ::fchmod(fd.get(), status.st_mode & 0777);
  ::futimens(fd.get(), times);
}

}  // namespace muster::steward
