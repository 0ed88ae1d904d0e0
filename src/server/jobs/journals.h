#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::jobs {

/// Where the journals of jobs are read: with the engine while a job is there, and in a folder of
/// the server's own once it has ended. Blocks as long as the disk does.
class Journals {
 public:
  /// The file of a host's journal as long as its engine has the job.
  using Living = std::function<std::string(const std::string& job, const std::string& host)>;
  Journals(std::string folder, Living living)
      : folder_(std::move(folder)), living_(std::move(living)) {}

  /// The path of a host's journal, while the job runs and when it has ended.
  std::string file(const std::string& job, const std::string& host) const;
  /// Keeps the hosts' journals when the engine removes the job: as hard links or, on another disk,
  /// as copies. Processes that are reading a journal can continue. Skips a host without a journal.
  /// Repeating it does nothing more. Error: `system` with the path.
  Result<void> keep(const std::string& job, const std::vector<std::string>& hosts) const;
  /// Removes what was kept. Error: `system`.
  Result<void> forget(const std::string& job) const;

 private:
  std::string kept(const std::string& job, const std::string& host) const;

  std::string folder_;
  Living living_;
};

}  // namespace muster::jobs
