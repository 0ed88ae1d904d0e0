#pragma once

#include <string>
#include <vector>

#include "cli/machine_facts.h"

namespace muster::cli {

/// One thing that jobs need, all or some.
struct Finding {
  std::string what;     ///< "runc"
  std::string purpose;  ///< "runs the hosts"
  bool good = false;
  bool needed = true;    ///< False: only some jobs need it.
  std::string found{};   ///< Where or how much it is; may be empty.
  std::string advice{};  ///< What to do if it is not good.

  bool operator==(const Finding&) const = default;
};
/// What every job needs, and mpirun. Pure.
std::vector<Finding> findings(const MachineFacts& facts);
/// True if everything that every job needs is there.
bool is_well(const std::vector<Finding>& findings);

/// The first thing that a job on this machine needs and lacks, in one line; empty if none.
std::string first_lack(const MachineFacts& facts, bool mpi);

}  // namespace muster::cli
