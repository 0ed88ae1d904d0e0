#include "machine/node/host_meter.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "container/bundle/bundle.h"
#include "container/cgroup.h"
#include "net/addresses/interfaces.h"
#include "os/devices/gpu_figures.h"
#include "os/supervise/reaper.h"

namespace muster::node {
namespace {

constexpr std::size_t proc_bytes_max = 1u << 20;
/// After a measurement, none is made for this multiple of its duration.
constexpr int rest_factor = 100;

Duration processor_time_here() {
  struct timespec used {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Folders of the groups that contain only the host.
std::vector<std::string> own_groups(const job::HostSpec& spec) {
  std::vector<std::string> folders;
  const std::string text = read_file("/proc/self/cgroup", proc_bytes_max).value_or("");
  for (const supervise::GroupPlace& place : supervise::group_places(text)) {
    const std::string path =
        spec.in_step ? container::cgroup_below(place.path, container::step_cgroup_name(spec))
                     : place.path;
    const bool is_own = spec.in_step || is_of_step(path);
    if (is_own && ::access((place.root + path).c_str(), F_OK) == 0)
      folders.push_back(place.root + path);
  }
  return folders;
}

/// For a light host, all processes of the step; otherwise the descendants of `steward`.
std::vector<pid_t> processes_of(const std::vector<std::string>& groups, pid_t steward) {
  for (const std::string& group : groups)
    if (std::vector<pid_t> pids = supervise::processes_of_group(group); !pids.empty()) return pids;
  std::vector<pid_t> pids = supervise::descendants(steward);
  pids.push_back(steward);
  return pids;
}

job::Flow network_by(const std::string& address) {
  for (const InterfaceAddress& each :
       interface_addresses().value_or(std::vector<InterfaceAddress>()))
    if (each.address == address && !each.is_loopback)
      return supervise::network_from(read_file("/proc/self/net/dev", proc_bytes_max).value_or(""),
                                     each.interface);
  return {};
}

}  // namespace

bool is_of_step(std::string_view group) {
  const std::vector<std::string> names = split(group, '/');
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with("step_"); });
}

HostMeter::HostMeter(supervise::Programs& programs, const job::HostSpec& spec, Env env)
    : programs_(programs), spec_(spec), env_(std::move(env)) {
  const Env::const_iterator visible = env_.find("CUDA_VISIBLE_DEVICES");
  if (visible != env_.end()) gpus_ = devices::gpu_numbers(visible->second);
}

Result<job::Usage> HostMeter::measure(pid_t steward, const std::string& address) {
  if (Clock::now() < not_before_)
    return fail(Errc::timeout, "the host's usage was measured too recently to measure it again");
  const Duration before = processor_time_here();
  job::Usage now = see(steward, address);
  not_before_ = Clock::now() + rest_factor * (processor_time_here() - before);
  // A process that ends between two readings may be missing in both; totals never decrease.
  now.processor_time = std::max(now.processor_time, last_.processor_time);
  now.disk.in = std::max(now.disk.in, last_.disk.in);
  now.disk.out = std::max(now.disk.out, last_.disk.out);
  last_ = now;
  if (!gpus_.empty() && !gpu_meter_) gpu_meter_.emplace(programs_, env_, "");
  if (gpu_meter_) now.gpus = gpu_meter_->of(gpus_);
  return now;
}

job::Usage HostMeter::see(pid_t steward, const std::string& address) {
  const std::vector<std::string> groups = own_groups(spec_);
  supervise::Counted counted = supervise::counted_in(groups);
  const bool is_whole =
      counted.memory_bytes && counted.processor_time && counted.processes && counted.disk.in >= 0;
  if (!is_whole) {
    const supervise::Counted each = supervise::counted_of(processes_of(groups, steward));
    if (!counted.memory_bytes) counted.memory_bytes = each.memory_bytes;
    if (!counted.processor_time) counted.processor_time = each.processor_time;
    if (!counted.processes) counted.processes = each.processes;
    if (counted.disk.in < 0) counted.disk = each.disk;
  }
  return {.memory_bytes = counted.memory_bytes.value_or(0),
          .processor_time = counted.processor_time.value_or(std::chrono::microseconds(0)),
          .processes = counted.processes.value_or(0),
          .disk = counted.disk,
          .network = network_by(address)};
}

}  // namespace muster::node
