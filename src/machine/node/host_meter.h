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
#include "os/supervise/programs.h"
#include "os/supervise/usage.h"

namespace muster::node {

/// True for the group of one step of Slurm's, or one within it: "/slurm/uid_0/job_7/step_0/task_0".
/// Others, a daemon's or the root, are not the host's alone. Pure.
bool is_of_step(std::string_view group);

/// What a host uses of its node, as its step's control groups count it; what these do not count, as
/// its processes do. Its network is the interface that the job's hosts reach each other by, so what
/// others on the node send counts, too.
class HostMeter {
 public:
  /// `env`: finds the tool that reports GPUs, and lists those that the scheduler assigned.
  HostMeter(supervise::Programs& programs, const job::HostSpec& spec, Env env);

  /// `address`: the node's, by which the others reach it. Error: `timeout` where measuring now
  /// would take more than a hundredth of a processor.
  Result<job::Usage> measure(pid_t steward, const std::string& address);

 private:
  job::Usage look(pid_t steward, const std::string& address);

  supervise::Programs& programs_;
  job::HostSpec spec_;
  Env env_;
  std::vector<int> gpus_;                         ///< As the tool counts within the step.
  std::optional<devices::GpuMeter> gpu_meter_{};  ///< Created by the first request.
  job::Usage last_;
  TimePoint not_before_;
};

}  // namespace muster::node
