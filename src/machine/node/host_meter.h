#pragma once

// Inside node/ only.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "base/time.h"
#include "job/host_spec.h"
#include "job/wire/usage.h"
#include "os/devices/gpu_meter.h"
#include "os/supervise/cgroup_usage.h"
#include "os/supervise/programs.h"

namespace muster::node {

/// True for the group of one step of Slurm's, or one within it: "/slurm/uid_0/job_7/step_0/task_0".
/// Other groups, such as a daemon's or the root group, have other processes, too. Pure.
bool is_of_step(std::string_view group);

/// Measures a host's resource use on its node, from the control groups of its step or, for
/// resources that these do not count, from its processes. The network figures are those of the
/// interface between the job's hosts, so they include traffic of other processes on the node.
class HostMeter {
 public:
  /// `env`: finds the tool that reports GPUs, and lists those that the scheduler assigned.
  HostMeter(supervise::Programs& programs, const job::HostSpec& spec, Env env);

  /// `address`: the node's address for the other hosts. Error: `timeout` if measuring now would use
  /// more than 1 % of a processor.
  Result<job::Usage> measure(pid_t steward, const std::string& address);
  /// As GpuMeter::look().
  void look() {
    if (gpu_meter_) gpu_meter_->look();
  }

 private:
  job::Usage see(pid_t steward, const std::string& address);

  supervise::Programs& programs_;
  job::HostSpec spec_;
  Env env_;
  std::vector<int> gpus_;                         ///< In the tool's numbering within the step.
  std::optional<devices::GpuMeter> gpu_meter_{};  ///< Created by the first request.
  job::Usage last_;
  TimePoint not_before_;
};

}  // namespace muster::node
