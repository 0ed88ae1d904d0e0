#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "net/loop/loop.h"

namespace muster::engine {

/// A job's place on this machine, `<state>/jobs/<name>`, mode 0700 (docs/protocols/job-folder.md):
/// `lock` (held as long as the job lives, also by its stewards: a sweep removes folders that are
/// not locked), `key` (0600, 64 hex digits), `algo-K/` for each host.
class JobFolder {
 public:
  /// Errors: `invalid_input` when a job of that name runs or has left its folder; `denied`.
  static Result<JobFolder> create(const std::string& state, const std::string& name);
  /// The folder of a job whose processes have all ended. Error: `denied` while one lives.
  static Result<JobFolder> take(const std::string& path);
  /// The names in use in this state, sorted: of jobs that live, or left their folder.
  static std::vector<std::string> names(const std::string& state);

  const std::string& path() const { return path_; }
  std::string key_file() const { return path_ + "/key"; }
  std::string host_folder(const std::string& host) const { return path_ + "/" + host; }
  /// The lock's descriptor, for stewards to hold, too.
  const Fd& lock() const { return lock_; }

  /// Removes everything. Blocks for as long as that takes.
  Result<void> remove();
  /// Leaves the folder for inspection: the file `kept` marks it, so that sweeps ignore it.
  Result<void> keep();
  /// Makes sweeps keep the folder although its lock is free, so that a process that resumes the job
  /// finds its journals.
  Result<void> mark_kept();
  void forget_kept();

 private:
  JobFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Fd lock_;
};

/// Removes the folder without blocking the loop.
loop::Task<Result<void>> remove_beside(loop::Loop& loop, JobFolder folder);

/// True while a living process holds the job folder's lock.
bool is_locked(const std::string& job_folder);

}  // namespace muster::engine
