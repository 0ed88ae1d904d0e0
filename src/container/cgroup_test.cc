#include "container/cgroup.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/user_namespace.h"
#include "container/cpus.h"
#include "container/host_limits.h"
#include "container/kernel_file.h"

// A machine with version 2 alone, as this one may not be: a file system of the test's own at
// /sys/fs/cgroup, in mounts of its own.

namespace muster::container {
namespace {

constexpr const char* at = "/sys/fs/cgroup";

class OwnMounts {
 public:
  /// `type`: "tmpfs" or "cgroup2".
  explicit OwnMounts(const char* type)
      : before_(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) {
    can_ = ::geteuid() == 0 && before_ && enter_private_mounts() &&
           ::mount("muster-test", at, type, 0, nullptr) == 0;
  }
  OwnMounts(const OwnMounts&) = delete;
  OwnMounts& operator=(const OwnMounts&) = delete;
  ~OwnMounts() { static_cast<void>(::setns(before_.get(), CLONE_NEWNS)); }
  bool can() const { return can_; }

 private:
  Fd before_;
  bool can_ = false;
};

#define SKIP_UNLESS(mounts)                                 \
  do {                                                      \
    if (!(mounts).can()) {                                  \
      MESSAGE("skipped: needs root and mounts of its own"); \
      return;                                               \
    }                                                       \
  } while (false)

/// Files as the kernel makes them in a group.
void put(const std::string& path, const std::string& text) {
  REQUIRE(make_folders(path.substr(0, path.rfind('/'))));
  REQUIRE(write_file(path, text, 0644));
}

std::string text_of(const std::string& path) {
  return read_file(path).value_or("none");
}

TEST_CASE("cgroup: the group that a process's memory counts in, of either version") {
  CHECK(memory_cgroup("9:name=systemd:/\n4:cpu,memory:/slurm/job_4/task_0\n0::/\n") ==
        "/slurm/job_4/task_0");
  CHECK(memory_cgroup("0::/system.slice/slurmstepd.scope/job_4\n") ==
        "/system.slice/slurmstepd.scope/job_4");
  CHECK(memory_cgroup("junk\n").empty());
}

TEST_CASE("cgroup: limits of a machine with version 2 stand in its one hierarchy") {
  const OwnMounts mounts("tmpfs");
  SKIP_UNLESS(mounts);
  const std::string root = at;
  put(root + "/cgroup.controllers", "cpuset cpu io memory pids\n");
  for (const char* group : {"", "/muster", "/muster/job"}) {
    put(root + group + "/cgroup.subtree_control", "");
    if (*group == 0) continue;
    for (const char* file : {"/memory.max", "/memory.swap.max", "/pids.max"})
      put(root + group + file, "");
  }
  CHECK(cgroup_roots() == std::vector<std::string>{at});
  REQUIRE(limit_cgroup("/muster/job", {1 << 30, 1000}));
  CHECK(text_of(root + "/cgroup.subtree_control") == "+memory +pids");
  CHECK(text_of(root + "/muster/cgroup.subtree_control") == "+memory +pids");
  CHECK(text_of(root + "/muster/job/memory.max") == "1073741824");
  CHECK(text_of(root + "/muster/job/memory.swap.max") == "0");
  CHECK(text_of(root + "/muster/job/pids.max") == "1000");
  CHECK(memory_limit("/muster/job") == 1 << 30);
  CHECK(process_limit("/muster/job") == 1000);
  CHECK(jobs_with_cgroups() == std::vector<std::string>{"job"});
}

TEST_CASE("cgroup: version 2's figures of a host") {
  const OwnMounts mounts("tmpfs");
  SKIP_UNLESS(mounts);
  const std::string root = at;
  const std::string host = root + "/muster/job/algo-1";
  put(root + "/cgroup.controllers", "cpuset cpu io memory pids\n");
  put(root + "/cpuset.cpus.effective", "0-3\n");
  put(host + "/memory.max", "max\n");
  put(host + "/pids.max", "max\n");
  put(host + "/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
  put(host + "/pids.events", "max 0\n");
  put(host + "/cpuset.cpus", "2\n");
  put(host + "/cgroup.procs", "0\n17\n");
  CHECK(!memory_limit("/muster/job/algo-1"));
  CHECK(!process_limit("/muster/job/algo-1"));
  CHECK(!killed_for_memory("/muster/job/algo-1"));
  CHECK(!refused_processes("/muster/job/algo-1"));
  put(host + "/memory.events", "max 12\noom 1\noom_kill 1\n");
  put(host + "/pids.events", "max 3\n");
  CHECK(killed_for_memory("/muster/job/algo-1"));
  CHECK(refused_processes("/muster/job/algo-1"));
  const CpuShares shares = cpu_shares();
  CHECK(shares.all == Cpus{0, 1, 2, 3});
  CHECK(shares.taken == std::vector<Cpus>{{2}});
  CHECK(processes_in("/muster/job") == std::vector<int>{0, 17});
}

/// The tree that Slurm makes where it has version 2: limits at a job and a step, processes below.
TEST_CASE("cgroup: in a step of Slurm's with version 2 its limits and kills are seen") {
  const OwnMounts mounts("tmpfs");
  SKIP_UNLESS(mounts);
  const std::string root = at;
  const std::string job = "/system.slice/slurmstepd.scope/job_7";
  const std::string user = job + "/step_0/user";
  const std::string task = user + "/task_0";
  CHECK(memory_cgroup("0::" + task + "\n") == task);
  put(root + "/cgroup.controllers", "cpuset cpu io memory pids\n");
  for (const std::string& each : {job, job + "/step_0", user, task}) {
    put(root + each + "/memory.max", "max\n");
    put(root + each + "/memory.events", "max 0\noom 0\noom_kill 0\n");
    put(root + each + "/pids.max", "max\n");
  }
  put(root + "/system.slice/memory.max", "max\n");
  CHECK(!least_memory_limit(task));
  put(root + job + "/memory.max", "629145600\n");
  put(root + job + "/step_0/memory.max", "314572800\n");
  CHECK(least_memory_limit(task) == 300 << 20);
  CHECK(killed_for_memory(task) == 0);
  put(root + task + "/memory.events", "max 9\noom 2\noom_kill 2\n");
  CHECK(killed_for_memory(task) == 2);
  CHECK(killed_for_memory(user) == 0);
  // A container's group is beside the one that has processes, below what has the limits.
  CHECK(cgroup_below(task, "muster-7") == user + "/muster-7");
  CHECK(least_memory_limit(user + "/muster-7") == 300 << 20);
  // A task without the controller counts in what is above it; a group that is gone in nothing.
  REQUIRE(::unlink((root + task + "/memory.events").c_str()) == 0);
  put(root + user + "/memory.events", "max 9\noom 2\noom_kill 3\n");
  CHECK(killed_for_memory(task) == 3);
  CHECK(killed_for_memory(user + "/muster-7") == 0);
}

// The kernel's own version 2, with the controllers that version 1 leaves it: none is needed here.
TEST_CASE("cgroup: groups of the kernel's version 2 are found with their processes, and removed") {
  const OwnMounts mounts("cgroup2");
  SKIP_UNLESS(mounts);
  const std::string job = "/muster/test-" + std::to_string(::getpid());
  const bool was = has_cgroup("/muster");
  REQUIRE(make_folders(at + job + "/algo-1"));
  CHECK(has_cgroup(job));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::pause());
  REQUIRE(tell_kernel(at + job + "/algo-1/cgroup.procs", std::to_string(child)));
  CHECK(processes_in(job) == std::vector<int>{child});
  remove_cgroup(job);
  CHECK(has_cgroup(job));  // What holds a process stays.
  REQUIRE(tell_kernel(at + job + "/cgroup.kill", "1"));
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(count_in(text_of(at + job + "/cgroup.events"), "populated") == 0);
  remove_cgroup(job);
  CHECK(!has_cgroup(job));
  if (!was) remove_idle_cgroup("/muster");
}

}  // namespace
}  // namespace muster::container
