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
  dress_copy(target, status);
  return 0;
}

int copy_folder(int from, int to, const Wanted& wanted, int depth);

int copy_entry(int from, int to, const std::string& name, const Wanted& wanted, int depth) {
  Status status{};
  if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISLNK(status.st_mode)) return copy_link(from, to, name);
  if (S_ISREG(status.st_mode)) return copy_file(from, to, name);
  if (!S_ISDIR(status.st_mode)) return 0;
  const Fd inner = open_folder(from, name);
  if (!inner || ::mkdirat(to, name.c_str(), 0700) != 0) return errno;
  const Fd made = open_folder(to, name);
  if (!made) return errno;
  const int wrong = copy_folder(inner.get(), made.get(), wanted, depth + 1);
  dress_copy(made, status);
  return wrong;
}

int copy_folder(int from, int to, const Wanted& wanted, int depth) {
  if (depth > depth_max) return ELOOP;
  int wrong = 0;
  errno = 0;
  const Result<void> listed = each_name(open_folder(from, "."), "", [&](const std::string& name) {
    if (wanted(name)) wrong = copy_entry(from, to, name, wanted, depth);
    if (wrong == ENOENT) wrong = 0;  // Another host may have created it meanwhile.
    return wrong == 0;
  });
  if (!listed) return errno != 0 ? errno : EIO;
  return wrong;
}

}  // namespace

int copy_tree(int from, int to, const std::function<bool(const std::string& name)>& wanted) {
  return copy_folder(from, to, wanted, 0);
}

void dress_copy(const Fd& fd, const struct stat& status) {
  const timespec times[2] = {status.st_mtim, status.st_mtim};
  ::fchmod(fd.get(), status.st_mode & 0777);
  ::futimens(fd.get(), times);
}

}  // namespace muster::steward
