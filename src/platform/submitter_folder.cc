#include "platform/submitter_folder.h"

#include <sys/stat.h>
#include <unistd.h>

namespace muster::platform {

Result<GivenPath> check_place(const std::string& what, const std::string& path) {
  Result<GivenPath> given = walk_given(path);
  if (!given) return given.error().in(what);
  struct stat status {};
  if (::fstat(given->held.get(), &status) != 0) return fail_errno(what + ": " + given->path);
  if (!S_ISDIR(status.st_mode))
    return fail(Errc::invalid_input, what + ": " + given->path + " is not a folder");
  // Only an attempt reveals read-only mounts, NFS that does not trust root, and /proc.
  const Result<std::string> tried = make_private_folder(held_path(given->held), partial_prefix);
  if (!tried)
    return fail(Errc::invalid_input, errno_text(what + ": cannot create files in " + given->path));
  ::rmdir(tried->c_str());
  return given;
}

Result<Fd> make_folders_of(const std::string& path, const std::optional<Owner>& owner) {
  const GivenPath given = TRY(walk_given(path));
  return make_given_folder(given, owner);
}

}  // namespace muster::platform
