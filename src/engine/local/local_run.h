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
#include "engine/job_folder.h"
#include "engine/journals.h"
#include "engine/local/attempt_note.h"
#include "engine/local/local_engine.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/devices/gpu_meter.h"

namespace muster::local {

/// The stewards of a job on this machine: children of this process or of another one.
class LocalRun final : public engine::Run {
 public:
  /// `folder`: holds the lock if this process started the job.
  LocalRun(supervise::Programs& programs, LocalEngine& local, std::string path,
           std::optional<engine::JobFolder> folder);
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;
  ~LocalRun() override;

  /// For a job that outlives this process: see engine::JobFolder::mark_kept().
  Result<void> mark_kept() { return folder_->mark_kept(); }
  /// Starts the steward of `spec`, whose folder is made here. Of a job that outlives this process
  /// it does nothing before begin(): if we end in between, so does it.
  Result<void> start(const job::HostSpec& spec);
  /// Lets the stewards begin; call it when all of them have been started and noted.
  Result<void> begin();
  /// From now on, a host whose steward is killed is reported as lost, not as ended.
  void heed_losses();
  /// For a job that another process started: which attempt it is at.
  Result<void> find_attempt();
  /// Watches a running steward, by the pid file that start() wrote; without the file, the host was
  /// never started. `address` is the host's.
  Result<void> attach(const std::string& host, const std::string& address);
  /// engine::Journals of all hosts that there are by now can be read from here on.
  Result<void> follow();
  /// For a folder in which there is nothing yet that a steward could have done.
  void cut_short() { whole_ = false; }

  const std::vector<std::string>& hosts() const override { return hosts_; }
  bool whole() const override { return whole_; }
  loop::Task<Result<engine::Event>> next_event() override;
  Result<engine::Records> records(const std::string& host, std::uint64_t from) override;
  loop::Task<bool> grown() override;
  void stop(const std::string& host, std::chrono::milliseconds grace) override;
  void destroy(const std::string& host) override;
  /// Usage from the host's control group; the rest from its steward.
  loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question question) override;
  void note(const std::string& host, const std::vector<job::LogLine>& lines) override;
  /// All hosts, each where it was, since there is no other node: `unsupported` for some of them. An
  /// engine that is killed in the middle of it leaves a job that is not whole().
  loop::Task<Result<void>> replace(std::vector<std::string> hosts) override;
  /// The job does not restart, because its next attempt would get the same GPU.
  void set_broken(const std::string& /*host*/) override { has_broken_card_ = true; }
  void set_tally(engine::Tally tally) override { next_tally_ = tally; }
  engine::Tally tally() const override { return note_.tally; }
  loop::Task<Result<std::string>> upload(bool completed) override;
  bool uploaded() const override;
  /// Returns them where the stewards left them: nothing is copied.
  loop::Task<Result<std::vector<engine::HostResult>>> results() override;
  loop::Task<Result<std::string>> release(bool keep) override;

 private:
  struct State;
  Result<void> take_folder();
  loop::Task<Result<void>> end_attempt();
  Result<void> begin_attempt();
  loop::Task<> give_up();
  loop::Task<> watch(std::string host);
  loop::Task<> ask_to_stop(std::string host, std::chrono::milliseconds grace);
  void signal(const std::string& host, int number);
  bool runs(const std::string& host) const;
  std::vector<job::GpuUse> gpus_of(const std::string& host);
  std::string host_folder(const std::string& host) const { return path_ + "/" + host; }
  std::string name() const { return path_.substr(path_.rfind('/') + 1); }

  supervise::Programs& programs_;
  LocalEngine& local_;
  std::string path_;
  std::optional<engine::JobFolder> folder_;
  std::vector<std::string> hosts_;
  AttemptNote note_;
  engine::Tally next_tally_;
  bool whole_ = true;
  bool removed_ = false;  ///< The name may be another job's by now.
  Pipe lifeline_;
  Pipe gate_;                                   ///< Open as long as no steward may begin.
  std::shared_ptr<State> state_;                ///< The reaper reports ends to it, even later.
  std::shared_ptr<engine::Journals> journals_;  ///< Shared with tasks that wait for one to grow.
  std::map<std::string, std::vector<int>> gpu_numbers_;  ///< By host, of those that were asked.
  std::shared_ptr<devices::GpuMeter> gpu_meter_;         ///< Once a host with GPUs was asked.
  bool has_broken_card_ = false;                         ///< See set_broken().
  loop::Tasks tasks_;
};

}  // namespace muster::local
