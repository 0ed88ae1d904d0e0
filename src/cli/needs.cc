#include "cli/needs.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace muster::cli {
namespace {

struct KernelVersion {
  std::int64_t major = 0;
  std::int64_t minor = 0;
};
/// pidfd_open, clone3, close_range: what muster takes for granted.
constexpr KernelVersion kernel_min{5, 9};
/// Overlays over what is shown with translated owners.
constexpr KernelVersion kernel_of_user_ids{5, 19};
constexpr int cap_sys_resource = 24;
constexpr const char* run_as_root = "run sm as root: sudo sm ...";
/// Less memory or disk than this is not enough for training.
constexpr std::int64_t least_bytes = std::int64_t{1} << 30;

bool has_file_system(const std::string& file_systems, const std::string& name) {
  for (const std::string& line : split(file_systems, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (!words.empty() && words.back() == name) return true;
  }
  return false;
}

bool has_control_groups(const std::string& mountinfo) {
  return mountinfo.find(" - cgroup2 ") != std::string::npos ||
         mountinfo.find(" - cgroup ") != std::string::npos;
}

bool is_new_enough(const std::string& kernel, KernelVersion least) {
  const std::vector<std::string> parts = split(kernel.substr(0, kernel.find('-')), '.');
  if (parts.size() < 2) return false;
  const std::int64_t major = parse_integer(parts[0]).value_or(0);
  const std::int64_t minor = parse_integer(parts[1]).value_or(0);
  return major > least.major || (major == least.major && minor >= least.minor);
}

/// "CapEff:\t000001fffffeffff" in /proc/self/status.
bool has_capability(const std::string& status, int number) {
  constexpr std::string_view name = "CapEff:\t";
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return false;
  const char* const digits = status.c_str() + at + name.size();
  return (std::strtoull(digits, nullptr, 16) >> number & 1) != 0;
}

Finding program(const char* name, const std::string& path, bool needed, const char* purpose,
                const char* package) {
  return {.what = name,
          .purpose = purpose,
          .good = !path.empty(),
          .needed = needed,
          .found = path,
          .advice = std::string("apt-get install ") + package};
}

bool has_word(const std::string& text, std::string_view word) {
  const std::vector<std::string> words = split_words(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string gibibytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

/// A thing of which there should be `least_bytes`, in words.
Finding amount(const char* what, const char* purpose, std::int64_t bytes, const char* advice) {
  return {.what = what,
          .purpose = purpose,
          .good = bytes >= least_bytes,
          .needed = false,
          .found = gibibytes(bytes) + " free",
          .advice = advice};
}

std::vector<Finding> kernel_findings(const MachineFacts& facts) {
  const bool has_limits =
      has_word(facts.controllers, "memory") && has_word(facts.controllers, "pids");
  const bool own_ids = is_new_enough(facts.kernel, kernel_of_user_ids) && facts.user_namespaces;
  const bool has_users = facts.rootless_ids > 1;
  const Finding users{.what = "user ids",
                      .purpose = "to have several users in a host",
                      .good = has_users,
                      .needed = false,
                      .advice =
                          "apt-get install uidmap; usermod --add-subuids 100000-165535 "
                          "--add-subgids 100000-165535 USERNAME"};
  const Finding nobody{.what = "user ids",
                       .purpose = "to run root in a host as an unprivileged user of the machine",
                       .good = own_ids,
                       .needed = false,
                       .advice =
                           "Linux 5.19 or newer is required, with user.max_user_namespaces above "
                           "0; otherwise root in a host has the user ID of root on the machine"};
  return {
      {.what = "kernel",
       .purpose = "to run hosts as containers",
       .good = is_new_enough(facts.kernel, kernel_min),
       .found = facts.kernel,
       .advice = "Linux 5.9 or newer is required"},
      {.what = "overlayfs",
       .purpose = "to store what hosts write in a layer over the machine's files",
       .good = has_file_system(facts.file_systems, "overlay"),
       .advice = "modprobe overlay"},
      {.what = "cgroups",
       .purpose = "to manage all processes of a host together",
       .good = has_control_groups(facts.mountinfo),
       .found = facts.controllers,
       .advice = "mount -t cgroup2 none /sys/fs/cgroup"},
      {.what = "limits",
       .purpose = "to limit the memory and the number of processes of jobs",
       .good = has_limits,
       .needed = false,
       .advice = "use a kernel with the cgroup controllers memory and pids; boot it with "
                 "cgroup_enable=memory"},
      {.what = "seccomp",
       .purpose = "to filter the system calls of hosts",
       .good = facts.seccomp_actions.find("errno") != std::string::npos,
       .advice = "use a kernel with CONFIG_SECCOMP_FILTER"},
      facts.rootless_ids > 0 ? users : nobody,
      {.what = "oom score",
       .purpose = "to keep muster's own processes alive when memory runs out",
       .good = has_capability(facts.status, cap_sys_resource),
       .needed = false,
       .advice = "run sm with CAP_SYS_RESOURCE"},
  };
}

/// What is otherwise for jobs of an ordinary user.
void tell_without_root(std::vector<Finding>& all) {
  const auto is_any_of = [](const Finding& finding, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), finding.what) != names.end();
  };
  for (Finding& each : all) {
    if (each.what == "cgroups") each.needed = false;
    if (each.what == "outside")
      each.advice =
          "apt-get install slirp4netns nftables, and allow all users to open /dev/net/tun";
    if (!is_any_of(each, {"limits", "volumes", "disk shares", "oom score"})) continue;
    each.good = false;
    each.found = "needs root";
    each.advice = run_as_root;
  }
}

}  // namespace

std::vector<Finding> findings(const MachineFacts& facts) {
  std::vector<Finding> all = {{.what = "root",
                               .purpose = "to create containers",
                               .good = facts.root,
                               .found = facts.rootless_ids > 0
                                            ? "not needed, because this user can create namespaces"
                                            : facts.refused,
                               .advice = run_as_root}};
  all.push_back(program("runc", facts.runc, true, "to run containers", "runc"));
  for (Finding& each : kernel_findings(facts)) all.push_back(std::move(each));
  if (facts.root)  // For others it is not writable, and need not be.
    all.push_back({.what = "state folder",
                   .purpose = "to store the files of running jobs",
                   .good = facts.state_writable,
                   .found = facts.state_folder,
                   .advice = "make it writable, or set MUSTER_STATE to another folder"});
  all.push_back(amount("disk", "for the state folder", facts.disk_free_bytes,
                       "free up space, or set MUSTER_STATE to a folder on another disk"));
  all.push_back({.what = "volumes",
                 .purpose = "to enforce disk limits (VolumeSizeInGB, --volume-size)",
                 .good = !facts.mke2fs.empty() && facts.loop_devices &&
                         has_file_system(facts.file_systems, "ext4"),
                 .needed = false,
                 .advice = "apt-get install e2fsprogs; modprobe loop ext4"});
  all.push_back({.what = "disk shares",
                 .purpose = "to share disk bandwidth equally among jobs",
                 .good = facts.disk_scheduler.find("[bfq]") != std::string::npos,
                 .needed = false,
                 .found = facts.disk_scheduler,
                 .advice = "select the bfq scheduler for the disk: write bfq to queue/scheduler of "
                           "the disk in /sys/block; other schedulers ignore cgroup weights"});
  all.push_back(amount("memory", "for jobs", facts.memory_available_bytes,
                       "stop other programs; a job that runs out of memory is killed"));
  if (facts.python_asked.empty())
    all.push_back(program("python3", facts.python3, false, "for Python scripts", "python3"));
  else
    all.push_back({.what = "python",
                   .purpose = "for Python scripts",
                   .good = !facts.python3.empty(),
                   .found = facts.python3.empty() ? facts.python_asked : facts.python3,
                   .advice = "program not found; choose another program with --python"});
  all.push_back(program("mpirun", facts.mpirun, false, "for jobs with several processes under MPI",
                        "openmpi-bin"));
  const std::string python = facts.python_asked.empty() ? "python3" : facts.python_asked;
  all.push_back({.what = "py-spy",
                 .purpose = "for sm stacks to show the stacks of Python programs",
                 .good = !facts.py_spy.empty(),
                 .needed = false,
                 .found = facts.py_spy,
                 .advice = python + " -m pip install py-spy"});
  all.push_back({.what = "outside",
                 .purpose = "to let jobs reach the same networks as this machine",
                 .good = facts.no_outside.empty(),
                 .needed = false,
                 .found = facts.no_outside,
                 .advice = "apt-get install nftables, and configure a default route; otherwise "
                           "hosts can reach only each other and the job's S3"});
  if (facts.rootless_ids > 0) tell_without_root(all);
  return all;
}

bool is_well(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.good || !each.needed; });
}

std::string first_lack(const MachineFacts& facts, bool mpi) {
  for (const Finding& each : findings(facts)) {
    if (each.good || !(each.needed || (mpi && each.what == "mpirun"))) continue;
    if (each.what == "root") return "jobs on this machine need root: run it with sudo";
    return each.what + " is missing: " + each.advice + " (see sm doctor)";
  }
  return {};
}

}  // namespace muster::cli
