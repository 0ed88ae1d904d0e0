#include "container/bundle/ability.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "container/bundle/runtime.h"
#include "container/cgroup.h"

namespace muster::container {
namespace {

/// Tests an overlay: in the calling thread's own mount namespace, mounts a tmpfs over `place`, with
/// a lower and an upper folder in it.
std::string why_no_overlay(const std::string& place) {
  if (::unshare(CLONE_FS | CLONE_NEWNS) != 0) return errno_text("cannot create a mount namespace");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return errno_text("cannot make mounts private");
  if (::mount("muster", place.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=700") != 0)
    return errno_text("cannot mount a tmpfs");
  for (const char* name : {"/lower", "/upper", "/work", "/root"})
    if (::mkdir((place + name).c_str(), 0700) != 0) return errno_text(name);
  const std::string options =
      "lowerdir=" + place + "/lower,upperdir=" + place + "/upper,workdir=" + place + "/work";
  if (::mount("muster", (place + "/root").c_str(), "overlay", 0, options.c_str()) != 0)
    return errno_text("cannot mount an overlay");
  return {};
}

/// Runs in a thread, because the thread's namespace disappears with it.
std::string try_mounts() {
  const Result<std::string> place = make_private_folder("/run/muster", "ability-");
  if (!place) return place.error().text;
  std::string why;
  std::thread thread([&] { why = why_no_overlay(*place); });
  thread.join();
  ::rmdir(place->c_str());
  return why;
}

/// Uses the group that accounts for the process's memory, because its limit must also apply to the
/// new group.
std::string try_group() {
  const std::string own = memory_cgroup(read_file("/proc/self/cgroup", 65536).value_or(""));
  const std::string path = cgroup_below(own, "muster-ability-" + std::to_string(::getpid()));
  std::string why = "control groups are not mounted";
  for (const std::string& root : cgroup_roots()) {
    if (::mkdir((root + path).c_str(), 0755) == 0) {
      remove_cgroup(path);
      return {};
    }
    if (errno != ENOENT) why = errno_text(root + path);
  }
  return why;
}

}  // namespace

std::optional<std::string> lack_of(const Ability& ability) {
  if (!ability.no_root.empty())
    return "it requires root or user namespaces, which are not allowed there (" + ability.no_root +
           ")";
  if (!ability.has_runtime) return "runc is not installed there (Debian package: runc)";
  if (!ability.no_mounts.empty()) return "mounts are not allowed there (" + ability.no_mounts + ")";
  if (!ability.no_group.empty())
    return "cannot create a control group inside the job's control group there (" +
           ability.no_group + ")";
  return std::nullopt;
}

Ability find_ability(const Env& env, std::string no_root) {
  Ability ability{.no_root = std::move(no_root), .has_runtime = Runtime::find(env).has_value()};
  if (!ability.no_root.empty()) return ability;
  if (const Result<void> made = make_folders("/run/muster"); !made)
    ability.no_mounts = made.error().text;
  else
    ability.no_mounts = try_mounts();
  if (rootless_ids(env) == 0) ability.no_group = try_group();
  return ability;
}

}  // namespace muster::container
