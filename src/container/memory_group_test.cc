#include "container/memory_group.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "container/cgroup.h"

using namespace muster;
using namespace muster::container;

namespace {

constexpr std::int64_t mebi = 1 << 20;

/// In a child, which alone joins groups: what it ends with, as waitpid(2) gives it.
int in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

std::string new_group() {
  return "/muster-test-" + hex(random_bytes(4)) + "/job/algo-1";
}

constexpr int no_groups = 42;

int take(const std::string& path, std::int64_t bytes) {
  const Result<MemoryGroup> group = MemoryGroup::join(path, 32 * mebi);
  if (!group) return no_groups;
  const std::string taken(static_cast<std::size_t>(bytes), 'x');
  const std::string proc = read_file("/proc/self/cgroup").value_or("");
  return memory_cgroup(proc).ends_with(path) && taken.back() == 'x' ? 0 : 1;
}

}  // namespace

TEST_CASE("memory group: a process joins one, and leaves nothing behind") {
  const std::string path = new_group();
  const int status = in_child([&] { return take(path, mebi); });
  if (WEXITSTATUS(status) == no_groups) {
    MESSAGE("skipped: no control groups to be made");
    return;
  }
  CHECK(status == 0);
  CHECK(!has_cgroup(path.substr(0, path.find('/', 1))));
}

TEST_CASE("memory group: a process beyond its limit is killed, and the group reports it") {
  const std::string path = new_group();
  const int status = in_child([&] { return take(path, 64 * mebi); });
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_groups) {
    MESSAGE("skipped: no control groups to be made");
    return;
  }
  CHECK(WIFSIGNALED(status));
  CHECK(killed_for_memory(path) == 1);
  CHECK(in_child([&] { return take(path, mebi); }) == 0);  // Counts from 0 again, then removes it.
  CHECK(!has_cgroup(path.substr(0, path.find('/', 1))));
}
