#include "machine/steward/own_memory.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process/data_limit.h"
#include "base/process/rootless.h"
#include "job/machine_name.h"
#include "os/supervise/start_steward.h"

namespace muster::steward {
namespace {

/// A group counts files written to a file system in memory, and cannot reclaim them.
bool is_in_memory(const std::string& folder) {
  struct statfs status {};
  return ::statfs(folder.c_str(), &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

bool may_make_groups(const Env& env) {
  return ::geteuid() == 0 && rootless_ids(env) == 0;
}

}  // namespace

OwnMemory::OwnMemory(const std::string& job_folder, const std::string& name,
                     const std::vector<std::string>& written, bool may_group) {
  if (may_group && std::ranges::none_of(written, is_in_memory)) {
    Result<container::MemoryGroup> group = container::MemoryGroup::join(
        supervise::steward_cgroup(job_folder, name), job::steward_memory_max);
    if (group) group_.emplace(*std::move(group));
  }
  if (!group_) limit_data(job::steward_memory_max, supervise::out_of_memory_words() + "\n");
}

/// A light host's processes, and those of a scheduler's step, stay in the group in which they
/// started.
OwnMemory OwnMemory::of_steward(const job::HostSpec& spec, const Env& env) {
  std::vector<std::string> written{spec.host_folder};
  if (!spec.spec.checkpoint_folder.empty()) written.push_back(spec.spec.checkpoint_folder);
  return OwnMemory(spec.job_folder, spec.host, written,
                   may_make_groups(env) && !spec.light && !spec.in_step);
}

OwnMemory OwnMemory::of_upload(const std::string& job_folder, const Env& env) {
  return OwnMemory(job_folder, supervise::upload_group, {job_folder}, may_make_groups(env));
}

}  // namespace muster::steward
