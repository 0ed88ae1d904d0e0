#include "cli/fit/bound.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/files/mounts.h"
#include "base/process/private_folders.h"
#include "cli/fit/places.h"
#include "job/bound_path.h"

namespace muster::cli {
namespace {

Error invalid_bind(const std::string& text) {
  return fail(Errc::invalid_input, "--bind: " + text);
}

Result<job::BoundPath> find_one(const BindWish& wish, const std::string& cwd,
                                const std::optional<Owner>& owner) {
  job::BoundPath bound;
  const std::string path = absolute(wish.outside, cwd);
  const Result<GivenPath> given = walk_given(path);
  if (!given) return invalid_bind(given.error().text);
  errno = ENOENT;
  struct stat status {};
  if (!given->missing.empty() || ::fstat(given->held.get(), &status) != 0)
    return invalid_bind(errno_text("cannot open " + path));
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
    return invalid_bind(path +
                        ": only folders and files can be bound, not sockets, devices or pipes");
  bound.outside = given->path;
  bound.inside = wish.inside.empty() ? path : wish.inside;
  while (bound.inside.size() > 1 && bound.inside.ends_with('/')) bound.inside.pop_back();
  bound.writable = wish.writable;
  if (!wish.writable) return bound;
  bound.user = status.st_uid;
  bound.group = status.st_gid;
  if (owner && owner->user != bound.user)
    return invalid_bind(path + ": rw requires that you (user " + std::to_string(owner->user) +
                        ") own this path, but the owner is user " + std::to_string(bound.user) +
                        "; bind the path as :ro, or bind a folder that you own");
  return bound;
}

}  // namespace

Result<std::vector<job::BoundPath>> find_bound(const std::vector<BindWish>& wishes,
                                               const std::string& cwd,
                                               const std::optional<Owner>& owner) {
  std::vector<job::BoundPath> all;
  if (wishes.empty()) return all;
  job::Surroundings machine;
  machine.mounts = mounts_of(TRY(read_file("/proc/self/mountinfo")));
  machine.sockets = sockets_of(read_file("/proc/net/unix").value_or(""));
  // Root alone can read it; the steward, which is root, looks again.
  machine.private_folders =
      private_folders(private_folder_register).value_or(std::vector<std::string>());
  for (const BindWish& wish : wishes) {
    all.push_back(TRY(find_one(wish, cwd, owner)));
    const Result<void> good = job::check_outside(all.back(), machine);
    if (!good) return invalid_bind(good.error().text);
  }
  const Result<void> good = job::check_inside(all);
  if (!good) return invalid_bind(good.error().text);
  return all;
}

}  // namespace muster::cli
