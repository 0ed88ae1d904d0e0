#include "machine/housing/folders.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "container/bundle/machine_mounts.h"
#include "container/bundle/rootfs.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;

/// Checks a lock without taking it: true if a process holds it.
bool is_held(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<Fd> take_lock(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("cannot create " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return fail(Errc::denied, path + ": in use by another process");
  return fail_errno("cannot lock " + path);
}

Result<Fd> wait_for_shared_lock(const std::string& job_folder, bool exclusive) {
  return wait_for_lock(job_folder + "/shared.lock", exclusive);
}

bool is_living(const std::string& job_folder) {
  return is_held(job_folder + "/lock") || has_stewards(job_folder);
}

bool has_stewards(const std::string& job_folder) {
  const std::vector<std::string> hosts = folders_in(job_folder, "algo-");
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return is_held(job_folder + "/" + host + "/lock");
  });
}

std::vector<std::string> folders_in(const std::string& path, const std::string& start) {
  std::vector<std::string> names;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    const std::string name = entry.path().filename();
    if (name.compare(0, start.size(), start) == 0 && entry.is_directory(code) &&
        !entry.is_symlink(code))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void unmount_below(const std::string& path) {
  const Result<std::string> mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo) return;
  std::vector<std::string> points = container::mount_points(*mountinfo);
  std::reverse(points.begin(), points.end());
  for (const std::string& point : points)
    if (point.starts_with(path + "/")) container::unmount(point);
}

Result<void> remove_tree(const std::string& path) {
  unmount_below(path);
  return muster::remove_tree(path);
}

}  // namespace muster::steward
