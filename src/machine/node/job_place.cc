#include "machine/node/job_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "job/wire/node_place.h"

namespace muster::node {
namespace {

/// The time until a job's lock gets its first holder.
constexpr std::chrono::minutes young_max{1};

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 || errno != ENOENT;
}

bool is_own_folder(const std::string& path, struct stat& status) {
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

bool is_own_file(const std::string& path, struct stat& status) {
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid();
}

/// In NodeJob::folder, which was the place itself in older versions.
Fd open_lock(const std::string& place) {
  Fd lock(::open((place + "/run/lock").c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock) lock = Fd(::open((place + "/lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock;
}

bool is_dead(const std::string& place) {
  struct stat status {};
  if (!is_own_folder(place, status)) return false;
  if (wall_time() - UnixMillis(status.st_mtim.tv_sec * 1000) < young_max) return false;
  const Fd lock = open_lock(place);
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Uses the inode's change time, because sbcast copies the modification time of the source.
bool is_older(const struct stat& status, UnixMillis before) {
  return UnixMillis(status.st_ctim.tv_sec * 1000) < before;
}

bool is_unclaimed(const std::string& place, UnixMillis before) {
  struct stat status {};
  return is_own_folder(place, status) && is_older(status, before) && !is_there(place + "/run") &&
         !is_there(place + "/lock");
}

/// The place to which a delivered file belongs; empty if it is another kind of file.
std::string place_for(const std::filesystem::path& file) {
  const std::string name = file.filename();
  const std::string start = name.substr(0, name.find('.'));
  const bool brought = start.size() < name.size() && job::is_place(start);
  return brought ? file.parent_path() / start : "";
}

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    paths.push_back(entry.path());
  return paths;
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename();
}

void remove_brought_for(const std::string& place) {
  for (const std::string& path : paths_in(std::filesystem::path(place).parent_path())) {
    struct stat status {};
    if (path.starts_with(place + ".") && is_own_file(path, status)) ::unlink(path.c_str());
  }
}

}  // namespace

Result<void> remove_place_of(const std::string& job_file) {
  const std::string place = job::place_around(job_file);
  struct stat status {};
  if (place == job_file || !is_own_folder(place, status)) return {};
  return remove_tree(place);
}

void remove_dead(const std::string& folder) {
  for (const std::string& path : paths_in(folder))
    if (job::is_place(name_of(path)) && is_dead(path)) {
      remove_brought_for(path);
      static_cast<void>(remove_tree(path));
    }
}

void remove_unclaimed(const std::string& folder, UnixMillis before) {
  for (const std::string& path : paths_in(folder))
    if (job::is_place(name_of(path)) && is_unclaimed(path, before))
      static_cast<void>(remove_tree(path));
  for (const std::string& path : paths_in(folder)) {
    const std::string place = place_for(path);
    struct stat status {};
    if (!place.empty() && is_own_file(path, status) && is_older(status, before) && !is_there(place))
      ::unlink(path.c_str());
  }
}

}  // namespace muster::node
