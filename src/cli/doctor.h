#pragma once

#include <string>
#include <vector>

#include "base/command.h"

namespace muster::cli {

/// What `sm doctor` looks at.
struct MachineFacts {
  bool root = false;
  std::string kernel;                      ///< "6.1.0"
  std::string runc, python3, mpirun, nft;  ///< Paths; empty: not there.
  std::string file_systems;                ///< Text of /proc/filesystems.
  std::string mountinfo;                   ///< Text of /proc/self/mountinfo.
  std::string seccomp_actions;             ///< Text of /proc/sys/kernel/seccomp/actions_avail.
  std::string status;                      ///< Text of /proc/self/status.
  bool user_namespaces = false;            ///< The kernel makes some.
  std::string state_folder;
  bool state_writable = false;
};
/// Looks at this machine; runs nothing and changes nothing.
MachineFacts machine_facts(const Env& env);

struct Finding {
  std::string what;  ///< "runc"
  bool good = false;
  bool needed = true;  ///< False: only some jobs need it.
  std::string found;   ///< Where it is, or what it is for.
  std::string advice;  ///< What to do if it is not good.

  bool operator==(const Finding&) const = default;
};
/// Pure.
std::vector<Finding> findings(const MachineFacts& facts);
std::string findings_text(const std::vector<Finding>& findings, bool colour);
std::string findings_json(const std::vector<Finding>& findings);
/// True if everything that every job needs is there.
bool is_well(const std::vector<Finding>& findings);

/// The first thing that a job on this machine needs and lacks, in one line; empty if none.
std::string first_lack(const MachineFacts& facts, bool mpi);

}  // namespace muster::cli
