#pragma once

#include <memory>
#include <optional>

#include "host/calls/conduct.h"
#include "host/coordinate/member.h"
#include "net/loop/tasks.h"

namespace muster::calls {

/// A member's part of a job: joins, runs the processes that the leader requests, and ends when the
/// leader says so.
class Follow final : public Conduct {
 public:
  explicit Follow(HostContext context);
  loop::Task<job::Verdict> run() override;
  void stop(int signal) override;

 private:
  Result<void> call(launch::Call call, launch::CallEnd on_end, bool whole_job) override;
  void call_gone(job::Verdict verdict) override;
  void agent(ranks::AgentCall call) override;
  void host_ended(job::Verdict verdict) override;

  loop::Task<Result<void>> join();
  ranks::HostRun::Sink user_sink();
  void on_frame(const Frame& frame);
  void on_call_frame(const Frame& frame);
  void begin(const Frame& start);
  bool on_preflight_frame(const Frame& frame);
  loop::Task<> tell_facts(bool listens);
  loop::Task<> measure(preflight::PairTask task);
  void begin_call();
  void on_exec(const Frame& frame);
  void send_end(int id, const job::Outcome& outcome);
  loop::Task<> drain(Duration grace);
  loop::Task<> drain_call(Duration grace);
  /// Reports a stop to the leader before the job has started, then leaves.
  loop::Task<> leave();
  void settle(job::Verdict verdict);

  std::unique_ptr<coordinate::Member> member_;
  std::optional<PreflightHost> preflight_;
  bool program_may_run_ = false;          ///< The leader has said that the preflight is over.
  std::optional<launch::Call> own_call_;  ///< From the call to its end.
  launch::CallEnd on_call_end_;
  int share_ = 0;  ///< The share whose ends are reported to the leader; processes that outlive its
                   ///< drain do not belong to a later call.
  std::optional<job::Verdict> verdict_;
  bool joined_ = false;
  bool leader_lost_ = false;
  int stop_signal_ = 0;
  loop::Event changed_;
  loop::Tasks tasks_;
};

}  // namespace muster::calls
