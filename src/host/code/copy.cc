#include "host/code/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files/copy_bytes.h"
#include "base/files/folder.h"

namespace muster::code {
namespace {

constexpr std::size_t depth_max = 128;

using Identity = std::pair<dev_t, ino_t>;

Identity identity(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

Result<void> keep_looks(int to, const struct stat& status, const std::string& path) {
  const timespec times[2] = {status.st_atim, status.st_mtim};
  static_cast<void>(::futimens(to, times));
  if (::fchmod(to, status.st_mode & 0777) != 0)
    return fail_errno("cannot change the mode of " + path);
  return {};
}

Result<void> copy_file(int from_folder, int to_folder, const std::string& name,
                       const std::string& path) {
  const Fd from(::openat(from_folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!from || ::fstat(from.get(), &status) != 0) return fail_errno("cannot open " + path);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Fd to(::openat(to_folder, name.c_str(), flags, 0600));
  if (!to) return fail_errno("cannot open " + path);
  TRY(copy_bytes(from.get(), to.get(), path));
  return keep_looks(to.get(), status, path);
}

/// `above`: the folders that `from` lies in, and what must not be among them.
Result<void> copy_folder(int from, int to, const std::string& path, std::vector<Identity>& above) {
  struct stat own {};
  if (::fstat(from, &own) != 0) return fail_errno("cannot open " + path);
  if (std::ranges::find(above, identity(own)) != above.end())
    return fail(Errc::invalid_input,
                path + ": this link points to a folder that is itself being copied");
  if (above.size() > depth_max)
    return fail(Errc::invalid_input,
                path + ": nested more than " + std::to_string(depth_max) + " folders deep");
  above.push_back(identity(own));
  for (const std::string& name : TRY(names_in(from, path))) {
    const std::string below = path + "/" + name;
    struct stat status {};
    if (::fstatat(from, name.c_str(), &status, 0) != 0) return fail_errno("cannot open " + below);
    if (S_ISREG(status.st_mode)) {
      TRY(copy_file(from, to, name, below));
      continue;
    }
    if (!S_ISDIR(status.st_mode))
      return fail(Errc::invalid_input, below + ": neither a file nor a folder");
    const Fd inner(::openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!inner) return fail_errno("cannot open " + below);
    if (::mkdirat(to, name.c_str(), 0700) != 0) return fail_errno("cannot create " + below);
    const Fd made(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made) return fail_errno("cannot open " + below);
    TRY(copy_folder(inner.get(), made.get(), below, above));
    TRY(keep_looks(made.get(), status, below));
  }
  above.pop_back();
  return {};
}

}  // namespace

Result<void> copy_tree(const std::string& from, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source) return fail_errno("cannot open " + from);
  const Fd target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!target || ::fstat(target.get(), &status) != 0) return fail_errno("cannot open " + to);
  std::vector<Identity> above = {identity(status)};
  return copy_folder(source.get(), target.get(), from, above);
}

Result<void> copy_into(const std::string& from, const std::string& to) {
  const std::size_t slash = from.rfind('/');
  const std::string name = slash == std::string::npos ? from : from.substr(slash + 1);
  const std::string above = slash == std::string::npos ? "." : from.substr(0, slash + 1);
  const Fd source(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!source) return fail_errno("cannot open " + above);
  const Fd target(::open(to.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!target) return fail_errno("cannot open " + to);
  return copy_file(source.get(), target.get(), name, from);
}

}  // namespace muster::code
