#include "container/memory_group.h"

#include <unistd.h>

#include "base/fd.h"
#include "container/cgroup.h"
#include "container/host_limits.h"
#include "container/kernel_file.h"

namespace muster::container {
namespace {

/// Another group's end may remove those above ours while we make it.
constexpr int tries_max = 100;

/// The hierarchies that limit the memory of `path`.
std::vector<std::string> memory_roots(const std::string& path) {
  std::vector<std::string> roots;
  for (const std::string& root : cgroup_roots())
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"})
      if (::access((root + path + file).c_str(), F_OK) == 0) roots.push_back(root);
  return roots;
}

void remove_with_idle_parents(std::string path) {
  for (; path.size() > 1; path.resize(path.rfind('/'))) remove_idle_cgroup(path);
}

}  // namespace

Result<MemoryGroup> MemoryGroup::join(const std::string& path, std::int64_t bytes_max) {
  const std::string before = memory_cgroup(read_file("/proc/self/cgroup", 65536).value_or(""));
  remove_idle_cgroup(path);  // What it counted is about an earlier process.
  Result<void> made;
  for (int i = 0; i < tries_max; ++i) {
    made = limit_cgroup(path, {bytes_max, 0});
    if (made) break;
  }
  if (made && memory_roots(path).empty())
    made = fail(Errc::unsupported, "this machine has no memory control groups");
  for (const std::string& root : memory_roots(path))
    if (made) made = tell_kernel(root + path + "/cgroup.procs", "0");
  if (made) return MemoryGroup(path, before == "/" ? "" : before);
  remove_with_idle_parents(path);
  return made.error();
}

MemoryGroup::~MemoryGroup() {
  if (path_.empty()) return;
  for (const std::string& root : memory_roots(path_))
    static_cast<void>(tell_kernel(root + before_ + "/cgroup.procs", "0"));
  remove_with_idle_parents(path_);
}

}  // namespace muster::container
