#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace muster::server {

/// Where the journals of jobs are: in the engine's files while it has the job, and in a separate
/// folder after the job has ended. Blocks as long as the disk does.
class JournalFiles {
 public:
  /// `engine` outlives this.
  JournalFiles(std::string folder, const engine::Engine& engine)
      : folder_(std::move(folder)), engine_(engine) {}

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
  const engine::Engine& engine_;
};

}  // namespace muster::server
