#pragma once

#include <memory>
#include <set>
#include <string>

#include "host/calls/call_lead.h"
#include "host/calls/conduct.h"
#include "host/coordinate/first_cause.h"
#include "host/coordinate/leader.h"
#include "host/ranks/messages.h"
#include "net/loop/tasks.h"

namespace muster::calls {

/// The leader's part of a job, and the whole of a job of one host: gathers the members, lets every
/// host do its work, finds the verdict, and ends all hosts.
class Lead final : public Conduct {
 public:
  explicit Lead(HostContext context);
  loop::Task<job::Verdict> run() override;
  void stop(int signal) override;

 private:
  Result<void> call(launch::Call call, launch::CallEnd on_end, bool whole_job) override;
  void call_gone(job::Verdict verdict) override { calls_.ended(std::move(verdict)); }
  void agent(ranks::AgentCall call) override { calls_.agent(std::move(call)); }
  void host_ended(job::Verdict verdict) override;

  loop::Task<Result<void>> gather();
  void start();
  loop::Task<> preflight_then_work();
  loop::Task<job::Verdict> watch();
  std::optional<job::Verdict> verdict_now(TimePoint now) const;
  TimePoint next_look() const;
  loop::Task<> end(const job::Verdict& verdict);

  void on_frame(const std::string& host, const Frame& frame);
  void on_job_frame(const std::string& host, const Frame& frame);
  void on_lines(const std::string& host, const Frame& frame);
  void read_on_with_room(const std::string& host);
  loop::Task<> release_when_read(std::string host);
  void one_host_ended(const std::string& host, const job::Verdict& verdict);
  void stop_all(const ranks::SignalRequest& request);
  void add_failure(job::Verdict verdict);
  bool leads_alone() const { return context_.training.roll_call_hosts().size() == 1; }

  std::unique_ptr<coordinate::Leader> leader_;
  CallLead calls_;
  std::optional<PreflightLead> preflight_;
  coordinate::FirstCause cause_;
  std::optional<job::Verdict> decided_;  ///< Set by a call that was the whole job.
  std::set<std::string> working_;        ///< Hosts whose work has not ended.
  std::set<std::string> draining_;       ///< Hosts that have not reported `drained`.
  std::set<std::string> held_;
  bool started_ = false;
  bool whole_job_call_ = false;
  bool ending_ = false;
  bool signalled_ = false;  ///< The process itself got a signal; a second one kills at once.
  int stop_signal_ = 0;
  TimePoint stop_by_ = TimePoint::max();
  loop::Event changed_;
  loop::Tasks tasks_;
};

}  // namespace muster::calls
