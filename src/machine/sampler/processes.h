#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/wire/stacks.h"

namespace muster::sampler {

/// A process with this machine's pid, and its description for the host's answer, without threads.
struct Found {
  pid_t pid = 0;
  bool is_python = false;
  job::ProcessStacks told;
};

/// The processes below `root`, itself included, the first started first; none of those that run
/// `own_program`'s file, or one of its name in a host. Reads /proc.
std::vector<Found> processes_below(pid_t root, const std::string& own_program);

/// What went through the interfaces of the process's network, without the loopback one; -1: that
/// network is this process's own, so the machine's.
std::int64_t net_bytes_of(pid_t pid);
/// The sum of a file /proc/PID/net/dev. Pure.
std::int64_t net_bytes_in(std::string_view text);

struct FoundThread {
  pid_t id = 0;             ///< As this machine counts.
  std::int64_t number = 0;  ///< As its process's namespace does.
  std::string name;
  bool runs = false;  ///< Or is ready to.
};
/// The threads of a process, the first one first.
std::vector<FoundThread> threads_of(pid_t pid);

/// The processor time that all threads of a process have used; 0: it has ended.
std::chrono::nanoseconds processor_time(pid_t pid);

/// A process's task among NAME=VALUE strings that end in NUL: "ps 1" from TF_CONFIG, "scheduler"
/// from DMLC_ROLE (MXNet's parameter server). Empty: none, or an unknown name. Pure.
std::string task_in(std::string_view environment);

}  // namespace muster::sampler
