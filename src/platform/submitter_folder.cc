#include "platform/submitter_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace muster::platform {
namespace {

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

Result<bool> check_place(const std::string& what, const std::string& path) {
  std::string there = path;  // Or the nearest folder above, in which the others will be made.
  struct stat status {};
  while (::stat(there.c_str(), &status) != 0) {
    if ((errno != ENOENT && errno != ENOTDIR) || is_link(there) || there.size() < 2)
      return fail_errno(what + ": " + there);
    there.resize(std::max<std::size_t>(there.rfind('/'), 1));
  }
  if (!S_ISDIR(status.st_mode))
    return fail(Errc::invalid_input, what + ": " + there + " is not a folder");
  // Only a try tells of read-only mounts, of NFS that does not trust root, of /proc.
  const Result<std::string> tried = make_private_folder(there, partial_prefix);
  if (!tried)
    return fail(Errc::invalid_input, errno_text(what + ": nothing can be made in " + there));
  ::rmdir(tried->c_str());
  return there == path;
}

Result<void> make_folders_of(const std::string& path, const std::optional<Owner>& owner) {
  std::vector<std::string> made;
  for (std::string folder = path; owner && !folder.empty() && !is_there(folder);
       folder.resize(folder.rfind('/')))
    made.push_back(folder);
  TRY(make_folders(path));
  for (const std::string& folder : made) {
    const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fchown(fd.get(), owner->user, owner->group) != 0) return fail_errno(folder);
  }
  return {};
}

}  // namespace muster::platform
