#pragma once

// Inside local/ only.

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/engine.h"
#include "local/job_folder.h"
#include "local/local_engine.h"
#include "loop/wait.h"

namespace muster::local {

/// The stewards of a job on this machine: our children, or those of another process.
class LocalRun final : public engine::Run {
 public:
  /// `folder`: with its lock, when the job is ours.
  LocalRun(Programs& programs, LocalEngine& local, std::string path,
           std::optional<JobFolder> folder);
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;
  ~LocalRun() override;

  /// For a job that outlives this process: see JobFolder::mark_kept().
  Result<void> mark_kept() { return folder_->mark_kept(); }
  /// Starts the steward of `spec`, whose folder is made here. Of a job that outlives this process
  /// it does nothing before begin(): if we end in between, so does it.
  Result<void> start(const job::HostSpec& spec);
  /// All stewards are started, and written down.
  Result<void> begin();
  /// Watches a steward that runs already, by the pid file that start() wrote; where there is none
  /// the host was never started.
  Result<void> attach(const std::string& host);
  /// For a folder in which there is nothing yet that a steward could have done.
  void cut_short() { whole_ = false; }

  const std::vector<engine::HostPlace>& hosts() const override { return hosts_; }
  bool whole() const override { return whole_; }
  loop::Task<Result<Ended>> next_end() override;
  void stop(const std::string& host, std::chrono::milliseconds grace) override;
  void destroy(const std::string& host) override;
  loop::Task<Result<std::string>> upload(bool completed) override;
  loop::Task<Result<void>> release(bool keep) override;
  std::string folder() const override { return path_; }

 private:
  struct State;
  loop::Task<> ask(std::string host, std::chrono::milliseconds grace);
  void signal(const std::string& host, int number);

  Programs& programs_;
  LocalEngine& local_;
  std::string path_;
  std::optional<JobFolder> folder_;
  std::vector<engine::HostPlace> hosts_;
  bool whole_ = true;
  Pipe lifeline_;
  Pipe gate_;  ///< Open as long as no steward may begin.
  std::shared_ptr<State> state_;
};

}  // namespace muster::local
