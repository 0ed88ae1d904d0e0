#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "container/memory_group.h"
#include "job/host_spec.h"

namespace muster::steward {

/// Keeps this process below job::steward_memory_max for its lifetime, so that an untrusted
/// program's file names cannot use up the machine's memory. As root it uses a control group, which
/// also counts the programs that it runs; the kernel then kills it (supervise::steward_outcome()
/// reports this). If it may not create one, it uses RLIMIT_DATA: then it exits with a message.
class OwnMemory {
 public:
  static OwnMemory of_steward(const job::HostSpec& spec, const Env& env);
  static OwnMemory of_upload(const std::string& job_folder, const Env& env);

 private:
  /// `name`: the name of the group in the job's group. `written`: folders that it writes to.
  OwnMemory(const std::string& job_folder, const std::string& name,
            const std::vector<std::string>& written, bool may_group);

  std::optional<container::MemoryGroup> group_;
};

}  // namespace muster::steward
