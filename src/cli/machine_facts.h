#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/command.h"
#include "platform/places/machine.h"

namespace muster::cli {

/// What every job depends on: cheap to check before each job.
struct MachineFacts {
  bool root = false;
  std::int64_t rootless_ids = 0;      ///< See base/process/rootless.h; 0: not rootless.
  std::string refused{};              ///< Why an ordinary user has no namespaces; or empty.
  std::string kernel;                 ///< "6.1.0"
  std::string runc, python3, mpirun;  ///< Paths; empty: not there.
  std::string python_asked{};         ///< What `python3` is instead, by --python; empty: itself.
  std::string mke2fs;                 ///< A path, too.
  std::string py_spy;                 ///< A path; empty: not there.
  bool loop_devices = false;          ///< The kernel makes some.
  std::string disk_scheduler;         ///< Text of the state folder's disk's queue/scheduler.
  std::string no_outside;             ///< See places::why_no_outside().
  std::string file_systems;           ///< Text of /proc/filesystems.
  std::string mountinfo;              ///< Text of /proc/self/mountinfo.
  std::string controllers;            ///< Names of what control groups limit: "cpu memory".
  std::string seccomp_actions;        ///< Text of /proc/sys/kernel/seccomp/actions_avail.
  std::string status;                 ///< Text of /proc/self/status.
  bool user_namespaces = false;       ///< The kernel makes some.
  std::string state_folder;
  bool state_writable = false;
  std::int64_t disk_free_bytes = 0;         ///< Where the state folder is.
  std::int64_t memory_available_bytes = 0;  ///< The kernel's MemAvailable.
};
/// Looks at this machine; runs nothing and changes nothing.
MachineFacts machine_facts(const Env& env);

/// What only some jobs want.
struct JobFacts {
  std::string python;           ///< The interpreter that was asked.
  std::optional<Args> modules;  ///< Usual ones that it has; none: it cannot say.
  int gpus = 0;
  std::string gpu_trouble{};  ///< Why hosts can be given none; or empty.
  places::GpuHealth health{};
  places::GpuSurroundings surroundings{};
  int neurons = 0;
  std::string port_trouble;  ///< Why `sm server` cannot listen where it does by default; or empty.
};
/// Asks `python` (empty: python3) and the accelerators' tools. Takes a second where there are some.
JobFacts job_facts(const Env& env, const std::string& python);

}  // namespace muster::cli
