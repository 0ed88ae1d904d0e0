#include "container/cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr const char* mount_folder = "/sys/fs/cgroup";
/// Version 1 reports the largest possible value, rounded down to a page, instead of a word for "no
/// limit".
constexpr std::int64_t no_limit = std::int64_t{1} << 60;

std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> found;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code))
    if (entry.is_directory(code) && !entry.is_symlink(code)) found.push_back(entry.path());
  return found;
}

void remove_below(const std::string& folder) {
  for (const std::string& child : folders_in(folder)) remove_below(child);
  ::rmdir(folder.c_str());
}

void collect(const std::string& folder, std::set<int>& pids) {
  for (const std::string& word : split_words(read_file(folder + "/cgroup.procs").value_or("")))
    if (const std::optional<std::int64_t> pid = parse_integer(word))
      pids.insert(static_cast<int>(*pid));
  for (const std::string& child : folders_in(folder)) collect(child, pids);
}

/// With version 2, a group may lack a controller; the group above then accounts for its use.
std::string counting_group(const std::string& root, std::string path, const char* file) {
  std::error_code code;
  if (!fs::exists(root + path, code)) return path;
  while (path.size() > 1 && !fs::exists(root + path + file, code)) path.resize(path.rfind('/'));
  return path;
}

}  // namespace

long count_in(const std::string& text, std::string_view event) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() == 2 && words[0] == event)
      return static_cast<long>(parse_integer(words[1]).value_or(0));
  }
  return 0;
}

std::vector<std::string> cgroup_roots() {
  std::error_code code;
  if (fs::exists(fs::path(mount_folder) / "cgroup.controllers", code)) return {mount_folder};
  return folders_in(mount_folder);
}

long killed_for_memory(const std::string& path) {
  long count = 0;
  for (const std::string& root : cgroup_roots())
    for (const char* file : {"/memory.events", "/memory.oom_control"}) {
      const std::string group = counting_group(root, path, file);
      count = std::max(count, count_in(read_file(root + group + file).value_or(""), "oom_kill"));
    }
  return count;
}

std::string cgroup_below(const std::string& own, const std::string& name) {
  const bool is_unified = cgroup_roots() == std::vector<std::string>{mount_folder};
  const std::string parent = is_unified ? own.substr(0, own.rfind('/')) : own;
  return (parent == "/" ? "" : parent) + "/" + name;
}

std::string memory_cgroup(const std::string& proc_cgroup) {
  std::string unified;
  for (const std::string& line : split(proc_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::vector<std::string> controllers =
        split(line.substr(first + 1, second - first - 1), ',');
    std::string path = line.substr(second + 1);
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end())
      return path;
    if (line.starts_with("0::")) unified = path;
  }
  return unified;
}

bool refused_processes(const std::string& path) {
  for (const std::string& root : cgroup_roots())
    if (count_in(read_file(root + path + "/pids.events").value_or(""), "max") > 0) return true;
  return false;
}

std::optional<std::int64_t> memory_limit(const std::string& path) {
  for (const std::string& root : cgroup_roots())
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"})
      if (const std::optional<std::int64_t> limit =
              parse_integer(trim(read_file(root + path + file).value_or("")));
          limit && *limit < no_limit)
        return limit;
  return std::nullopt;
}

std::optional<std::int64_t> least_memory_limit(std::string path) {
  std::optional<std::int64_t> least;
  for (; path.size() > 1; path.resize(path.rfind('/')))
    if (const std::optional<std::int64_t> limit = memory_limit(path))
      least = std::min(*limit, least.value_or(no_limit));
  return least;
}

std::optional<std::int64_t> process_limit(const std::string& path) {
  for (const std::string& root : cgroup_roots())
    if (const std::optional<std::int64_t> limit =
            parse_integer(trim(read_file(root + path + "/pids.max").value_or(""))))
      return limit;
  return std::nullopt;
}

void remove_cgroup(const std::string& path) {
  for (const std::string& root : cgroup_roots()) remove_below(root + path);
}

bool has_cgroup(const std::string& path) {
  std::error_code code;
  for (const std::string& root : cgroup_roots())
    if (fs::exists(root + path, code)) return true;
  return false;
}

bool is_young_cgroup(const std::string& path) {
  constexpr std::time_t minute = 60;
  for (const std::string& root : cgroup_roots()) {
    struct stat info {};
    if (::stat((root + path).c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime < minute)
      return true;
  }
  return false;
}

void remove_idle_cgroup(const std::string& path) {
  for (const std::string& root : cgroup_roots()) ::rmdir((root + path).c_str());
}

std::vector<int> processes_in(const std::string& path) {
  std::set<int> pids;
  for (const std::string& root : cgroup_roots()) collect(root + path, pids);
  return {pids.begin(), pids.end()};
}

std::vector<std::string> host_groups(const std::string& root) {
  std::vector<std::string> hosts;
  for (const std::string& job : folders_in(root + jobs_cgroup))
    for (std::string& host : folders_in(job)) hosts.push_back(std::move(host));
  return hosts;
}

std::vector<std::string> jobs_with_cgroups() {
  std::set<std::string> jobs;
  for (const std::string& root : cgroup_roots())
    for (const std::string& folder : folders_in(root + jobs_cgroup))
      jobs.insert(fs::path(folder).filename());
  return {jobs.begin(), jobs.end()};
}

}  // namespace muster::container
