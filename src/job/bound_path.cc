#include "job/bound_path.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "job/ml_paths.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

/// Hosts have these of their own; also what holds one of them may not be covered.
constexpr std::array<std::string_view, 12> own_places = {ml_path,
                                                         "/proc",
                                                         "/sys",
                                                         "/dev",
                                                         "/run",
                                                         "/var/run",
                                                         "/etc/hosts",
                                                         "/etc/hostname",
                                                         "/etc/mtab",
                                                         "/etc/resolv.conf",
                                                         "/usr/local/bin/sm",
                                                         "/usr/local/bin/train"};
/// Where programs and their libraries stand, in / and in /usr: what covers one of these, or a part
/// of it, takes from a host what it needs to start.
constexpr std::array<std::string_view, 7> program_folders = {"bin",   "sbin",   "lib",    "lib32",
                                                             "lib64", "libx32", "libexec"};
/// On the machine: nothing in these is shown.
constexpr std::array<std::string_view, 4> kernel_places = {"/proc", "/sys", "/dev", "/run"};
/// Too wide: secrets of the whole machine stand there beside what somebody may mean.
constexpr std::array<std::string_view, 4> wide_places = {"/", "/etc", "/boot", "/var"};
/// File systems that show or control the machine, not data.
constexpr std::array<std::string_view, 18> kernel_types = {
    "proc",   "sysfs",    "devtmpfs", "devpts",     "cgroup",      "cgroup2",
    "mqueue", "debugfs",  "tracefs",  "securityfs", "bpf",         "pstore",
    "nsfs",   "configfs", "efivarfs", "fusectl",    "binfmt_misc", "selinuxfs"};

bool is_in(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

/// The place that hosts have themselves and that `path` would cover, or a part of it; empty: none.
std::string_view own_of_hosts(std::string_view path) {
  const std::string_view below = path.substr(path.starts_with("/usr/") ? 5 : 1);
  const auto covers = [below](std::string_view name) { return is_in(below, name); };
  if (path == "/usr" || std::any_of(program_folders.begin(), program_folders.end(), covers))
    return "/usr";
  for (const std::string_view own : own_places)
    if (is_in(path, own) || is_in(own, path)) return own;
  return {};
}

bool has_dots(const std::string& path) {
  for (const std::string& name : split(path.substr(1), '/'))
    if (name.empty() || name == "." || name == "..") return true;
  return false;
}

Error refused(const std::string& text) {
  return fail(Errc::invalid_input, text);
}

}  // namespace

Result<void> check_inside(const std::string& path) {
  if (!path.starts_with('/')) return refused(path + ": the path in hosts must start with /");
  if (path == "/") return refused("/: hosts have their own root folder; choose a folder below /");
  if (has_dots(path))
    return refused(path + ": the path in hosts must not have empty parts, . or ..");
  if (const std::string_view own = own_of_hosts(path); !own.empty())
    return refused(path + ": hosts have their own " + std::string(own) +
                   "; choose another path in hosts: PATH:/data");
  if (path == "/tmp")
    return refused(path + ": hosts have their own /tmp; choose a folder in /tmp, or another path");
  return {};
}

Result<void> check_inside(const std::vector<BoundPath>& bound) {
  for (const BoundPath& one : bound) {
    TRY(check_inside(one.inside));
    for (const BoundPath& other : bound)
      if (&other != &one && is_in(one.inside, other.inside))
        return refused(one.inside + ": is inside " + other.inside +
                       ", which is also bound; choose separate paths");
  }
  return {};
}

Result<void> check_outside(const BoundPath& bound, const Surroundings& machine) {
  const std::string& path = bound.outside;
  if (std::find(wide_places.begin(), wide_places.end(), path) != wide_places.end())
    return refused(path + ": contains far more than a job needs; choose a subfolder");
  for (const std::string_view kernel : kernel_places)
    if (is_in(path, kernel)) return refused(path + ": the machine's own files cannot be bound");
  for (const std::string& own : machine.private_folders) {
    if (is_in(path, own)) return refused(path + ": is inside muster's folder " + own);
    if (bound.writable && is_in(own, path))
      return refused(path + ": contains muster's folder " + own +
                     ", so it can be bound only as :ro");
  }
  for (const MountPoint& mount : machine.mounts)
    if (is_in(mount.path, path) &&
        std::find(kernel_types.begin(), kernel_types.end(), mount.type) != kernel_types.end())
      return refused(path + ": cannot be bound, because kernel files (" + mount.type +
                     ") are mounted at " + mount.path);
  for (const std::string& socket : machine.sockets)
    if (is_in(socket, path))
      return refused(
          path + ": cannot be bound, because a job could connect to the program that listens on " +
          socket);
  return {};
}

}  // namespace muster::job
