#include "base/process/user_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"

namespace muster {
namespace {

/// The kernel takes a map in one write, or not at all.
Result<void> tell(const char* path, const std::string& text) {
  const Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(std::string("cannot open ") + path);
  const Result<void> written = write_all(fd.get(), text);
  if (!written) return written.error().in(path);
  return {};
}

}  // namespace

/// Without setgroups(), no process can leave a group that denies it access to a file: the kernel's
/// condition for a map that an ordinary user creates.
Result<void> map_one_id(std::uint32_t user, std::uint32_t group, std::uint32_t inside_user,
                        std::uint32_t inside_group) {
  TRY(tell("/proc/self/setgroups", "deny"));
  TRY(tell("/proc/self/uid_map",
           std::to_string(inside_user) + " " + std::to_string(user) + " 1\n"));
  return tell("/proc/self/gid_map",
              std::to_string(inside_group) + " " + std::to_string(group) + " 1\n");
}

Env user_namespace_settings() {
  Env found;
  for (const char* name : {"kernel.unprivileged_userns_clone", "user.max_user_namespaces",
                           "kernel.apparmor_restrict_unprivileged_userns"}) {
    std::string path = std::string("/proc/sys/") + name;
    std::replace(path.begin(), path.end(), '.', '/');
    const Result<std::string> value = read_file(path, 64);
    if (value) found[name] = trim(*value);
  }
  return found;
}

std::string why_no_user_namespace(const Env& settings) {
  const auto is = [&settings](const char* name, const char* value) {
    const Env::const_iterator found = settings.find(name);
    return found != settings.end() && found->second == value;
  };
  if (is("kernel.unprivileged_userns_clone", "0")) return "kernel.unprivileged_userns_clone is 0";
  if (is("user.max_user_namespaces", "0")) return "user.max_user_namespaces is 0";
  if (is("kernel.apparmor_restrict_unprivileged_userns", "1"))
    return "kernel.apparmor_restrict_unprivileged_userns is 1";
  return {};
}

Result<void> enter_own_namespaces() {
  const auto refused = [](const std::string& what) {
    const std::string why = why_no_user_namespace(user_namespace_settings());
    return fail(Errc::denied, why.empty() ? what : why);
  };
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return refused(errno_text("cannot create namespaces"));
  if (const Result<void> mapped = map_one_id(user, group, user, group); !mapped)
    return refused(mapped.error().text);
  if (const Result<void> own = keep_own_mounts(); !own) return refused(own.error().text);
  return {};
}

Result<void> keep_own_mounts() {
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return fail_errno("cannot make mounts private");
  return {};
}

Result<void> enter_private_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return fail_errno("cannot create a mount namespace");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail_errno("cannot make mounts private");
  return {};
}

}  // namespace muster
