#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "base/result.h"

namespace muster::local {

/// A steward as its engine wrote it down: algo-K/steward.pid (docs/protocols/job-folder.md).
struct WrittenSteward {
  pid_t pid = 0;
  std::string started;  ///< As started_at() says.
};

/// When the kernel started `pid`: together they identify one process forever. Empty if it does not
/// exist.
std::string started_at(pid_t pid);
Result<void> write_steward(const std::string& host_folder, pid_t pid);
/// Errors: `not_found`; `protocol`.
Result<WrittenSteward> written_steward(const std::string& host_folder);

/// A job's living stewards, by host.
std::map<std::string, pid_t> living_stewards(const std::string& job_folder);

}  // namespace muster::local
