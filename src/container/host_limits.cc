#include "container/host_limits.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/process/machine_memory.h"
#include "base/text.h"
#include "container/cgroup.h"
#include "container/kernel_file.h"

namespace muster::container {
namespace {

constexpr std::int64_t mebi = 1 << 20;
constexpr std::int64_t reserve_least = 256 * mebi;
constexpr std::int64_t reserve_most = 4096 * mebi;
constexpr std::int64_t host_processes_max = 16384;
constexpr std::int64_t run_bytes_max = 64 * mebi;
constexpr std::int64_t file_system_least = 65536;
constexpr std::int64_t shm_bytes_usual = 1024 * mebi;
constexpr std::uint64_t open_files_most = 65536;

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// A file that some kernels lack, for example the one for swap.
Result<void> set_if_there(const std::string& file, const std::string& value) {
  return is_there(file) ? tell_kernel(file, value) : Result<void>();
}

/// With version 2, each group must enable its controllers for its child groups.
Result<void> make_group(const std::string& root, const std::string& path, bool unified) {
  std::string at = root;
  for (const std::string& name : split(path.substr(1), '/')) {
    if (unified) TRY(tell_kernel(at + "/cgroup.subtree_control", "+memory +pids"));
    at += "/" + name;
    if (::mkdir(at.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno("cannot create " + at);
  }
  return {};
}

}  // namespace

Result<MachineSize> machine_size() {
  MachineSize size;
  size.memory_bytes = TRY(machine_memory()).bytes;
  const auto number = [](const char* file) -> Result<std::int64_t> {
    const std::string text = TRY(read_file(file));
    const std::optional<std::int64_t> value = parse_integer(trim(text));
    if (!value) return fail(Errc::system, std::string(file) + ": expected a number");
    return *value;
  };
  const std::int64_t pids = TRY(number("/proc/sys/kernel/pid_max"));
  size.processes = std::min(pids, TRY(number("/proc/sys/kernel/threads-max")));
  if (size.memory_bytes == 0) return fail(Errc::system, "/proc/meminfo: MemTotal is missing");
  return size;
}

JobLimits job_limits(const MachineSize& machine) {
  const std::int64_t reserve = std::clamp(machine.memory_bytes / 10, reserve_least, reserve_most);
  return {std::max(machine.memory_bytes - reserve, machine.memory_bytes / 2),
          machine.processes / 4 * 3};
}

HostLimits host_limits(const JobLimits& job, const HostNeeds& needs) {
  CHECK_THAT(needs.hosts >= 1, "a job has a host");
  std::int64_t share = job.memory_bytes / needs.hosts;
  if (needs.memory_bytes > 0) share = std::min(share, needs.memory_bytes);
  const auto part = [share](std::int64_t divisor) {
    return std::max(share / divisor, file_system_least);
  };
  const std::int64_t shm_most = needs.has_gpus ? std::max(shm_bytes_usual, part(2)) : part(4);
  const std::int64_t shm_default = needs.has_gpus ? shm_most : shm_bytes_usual;
  return {.processes = std::min(host_processes_max, job.processes),
          .tmp_bytes = part(needs.has_gpus ? 4 : 2),
          .run_bytes = std::min(run_bytes_max, part(16)),
          .shm_bytes = std::min(needs.shm_bytes > 0 ? needs.shm_bytes : shm_default, shm_most)};
}

std::uint64_t open_files(std::uint64_t hard) {
  return std::min(hard, open_files_most);
}

Result<void> limit_cgroup(const std::string& path, const JobLimits& limits) {
  const std::string memory = std::to_string(limits.memory_bytes);
  const std::string processes = std::to_string(limits.processes);
  for (const std::string& root : cgroup_roots()) {
    const bool unified = is_there(root + "/cgroup.subtree_control");
    const std::string group = root + path;
    // A hierarchy of version 2 that is mounted next to those of version 1 has no controllers left.
    if (unified &&
        read_file(root + "/cgroup.controllers").value_or("").find("memory") == std::string::npos)
      continue;
    const bool of_memory = unified || is_there(root + "/memory.limit_in_bytes");
    const bool has_pids = unified || is_there(root + "/pids.max") || root.ends_with("/pids");
    const bool of_processes = limits.processes > 0 && has_pids;
    if (!of_memory && !of_processes) continue;
    TRY(make_group(root, path, unified));
    if (unified) {
      TRY(tell_kernel(group + "/memory.max", memory));
      TRY(set_if_there(group + "/memory.swap.max", "0"));
    } else if (of_memory) {
      TRY(tell_kernel(group + "/memory.limit_in_bytes", memory));
      TRY(set_if_there(group + "/memory.memsw.limit_in_bytes", memory));
      // If the kernel does not account for swap, this still keeps the jobs' memory out of it.
      TRY(set_if_there(group + "/memory.swappiness", "0"));
    }
    if (of_processes) TRY(tell_kernel(group + "/pids.max", processes));
  }
  return {};
}

}  // namespace muster::container
