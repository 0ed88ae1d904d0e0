#pragma once

#include <memory>
#include <set>
#include <string>

#include "coordinate/first_cause.h"
#include "coordinate/leader.h"
#include "toolkit/conduct.h"
#include "toolkit/messages.h"

namespace muster::toolkit {

/// The leader's part of a job, and the whole of a job of one host: gathers the members, runs the
/// launcher, finds the verdict, ends everybody.
class Lead final : public Conduct {
 public:
  explicit Lead(HostContext context);
  loop::Task<job::Verdict> run() override;
  void stop(int signal) override;

 private:
  loop::Task<Result<void>> gather();
  Result<void> start();
  Result<void> start_launcher();
  Result<void> start_script();
  loop::Task<job::Verdict> watch();
  std::optional<job::Verdict> verdict_now(TimePoint now) const;
  TimePoint next_look() const;
  loop::Task<> end(const job::Verdict& verdict);

  void on_frame(const std::string& host, const Frame& frame);
  void on_lines(const std::string& host, const Frame& frame, bool user);
  loop::Task<> release_when_read(std::string host);
  void on_exec_end(const std::string& host, const Frame& frame);
  void on_outcome(job::Verdict verdict);
  void stop_all(const SignalRequest& request);
  void on_agent(AgentCall call);
  void add_failure(job::Verdict verdict);
  bool leads_alone() const { return context_.training.hosts.size() == 1; }

  struct Daemon;
  std::unique_ptr<coordinate::Leader> leader_;
  coordinate::FirstCause cause_;
  std::map<int, std::shared_ptr<Daemon>> daemons_;  ///< By exec id.
  int daemons_made_ = 0;
  std::set<std::string> scripts_running_;  ///< Hosts whose script has not ended (no launcher).
  std::set<std::string> draining_;         ///< Hosts that have not said `drained`.
  std::set<std::string> held_;
  bool started_ = false;
  bool launcher_running_ = false;
  bool launcher_ended_well_ = false;
  bool ending_ = false;
  bool signalled_ = false;  ///< This process itself was; once more means now.
  int stop_signal_ = 0;
  TimePoint stop_by_ = TimePoint::max();
  loop::Event changed_;
};

}  // namespace muster::toolkit
