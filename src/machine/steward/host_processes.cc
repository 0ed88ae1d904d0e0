#include "machine/steward/host_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "os/supervise/process_identity.h"
#include "os/supervise/process_stat.h"
#include "os/supervise/reaper.h"

namespace muster::steward {
namespace {

constexpr std::size_t proc_file_bytes_max = 512u << 10;
constexpr int ancestors_max = 1000;
constexpr std::size_t programs_max = 4096;
/// The inode of the first pid namespace. Source: PROC_PID_INIT_INO in the kernel's proc_ns.h.
constexpr ino_t first_namespace = 0xEFFFFFFC;

std::string proc_text(std::int64_t pid, const char* name) {
  return read_file("/proc/" + std::to_string(pid) + "/" + name, proc_file_bytes_max).value_or("");
}

}  // namespace

void HostProcesses::note(int rank, std::int64_t pid) {
  if (noted_.size() < programs_max) noted_.insert_or_assign(pid, rank);
}

void HostProcesses::look() {
  if (noted_.empty()) return;
  for (const pid_t pid : supervise::descendants(init_)) {
    const auto rank = noted_.find(supervise::inner_number(proc_text(pid, "status"), pid));
    if (rank == noted_.end()) continue;
    if (programs_.size() >= programs_max) programs_.clear();  // Ranks restart again and again.
    programs_.insert_or_assign(pid, rank->second);
    ranks_.insert(rank->second);
  }
  noted_.clear();
}

ProcessOwner HostProcesses::owner_of(std::int64_t pid) const {
  const bool runs = supervise::stat_of(static_cast<pid_t>(pid)).has_value();
  if (!runs && !programs_.contains(pid)) return {};
  for (int i = 0; i < ancestors_max && pid > 0; ++i) {
    const auto program = programs_.find(pid);
    if (program != programs_.end()) return {ProcessOwner::Kind::host, program->second};
    if (pid == init_) return {ProcessOwner::Kind::host};
    pid = supervise::stat_of(static_cast<pid_t>(pid)).value_or(supervise::ProcessStat{}).parent;
  }
  return {ProcessOwner::Kind::outside};
}

std::string HostProcesses::name_of(std::int64_t pid) const {
  const ProcessOwner owner = owner_of(pid);
  const bool is_hosts = owner.kind == ProcessOwner::Kind::host;
  const int rank =
      is_hosts && owner.rank < 0 ? supervise::rank_in(proc_text(pid, "environ")) : owner.rank;
  if (rank >= 0) return "rank " + std::to_string(rank);
  const std::string status = proc_text(pid, "status");
  const std::string number = std::to_string(pid);
  if (is_hosts)
    return "process " + std::to_string(supervise::inner_number(status, pid)) + " of the host";
  if (owner.kind == ProcessOwner::Kind::unknown) return "process " + number;
  if (supervise::user_in(status) == static_cast<std::int64_t>(::geteuid()))
    return "process " + number + " outside the job";
  return "another user's process";
}

bool counts_as_machine() {
  struct stat own {};
  return ::stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == first_namespace;
}

}  // namespace muster::steward
