#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "calls/output.h"
#include "coordinate/first_cause.h"
#include "job/message.h"
#include "launch/call.h"
#include "ranks/host_run.h"
#include "ranks/messages.h"

namespace muster::calls {

struct HostContext;

/// The leader's side of collective calls, one at a time: waits until every host of the call has
/// called, runs the launcher here and its daemons where it wants them, finds how the call ended and
/// ends what is left of it. What it waits for is said every 10 s.
class CallLead {
 public:
  using Post =
      std::function<void(const std::string& host, job::Message type, std::string_view payload)>;
  /// `post` sends to a member; both outlive this.
  CallLead(HostContext& context, Post post);

  /// This host calls. `whole_job`: nothing follows the call, so its ranks are left to the job's own
  /// end. Error: `closed`, one runs already.
  Result<void> call(launch::Call call, launch::CallEnd on_end, bool whole_job);
  /// A member calls.
  void member_calls(const std::string& host, launch::HostCall call);
  /// A host's own program has ended, or what called for it: a call that waits for it fails.
  void gone(const std::string& host, const std::string& how);
  /// A rank or a daemon of the call has ended.
  void ended(job::Verdict verdict);
  /// What decides of a host's share has ended.
  void host_done(const std::string& host);
  void member_drained(const std::string& host);
  void member_output(const Frame& frame);
  void member_daemon_ended(const std::string& host, const Frame& frame);
  void agent(ranks::AgentCall call);

  /// The job was asked to stop: what fails from now on is a consequence.
  void stop();
  /// The job ends: no call starts or ends any more.
  void close();
  /// How the last call ended, if it failed.
  const std::optional<job::Verdict>& last_failure() const { return last_failure_; }

 private:
  struct Daemon;
  enum class Phase { idle, gathering, running, ending };

  void came(const std::string& host, launch::HostCall call);
  void begin_if_complete();
  void begin();
  loop::Task<> launch();
  loop::Task<Result<void>> reach_by_ssh();
  Result<void> start_launcher();
  void fail_call(const std::string& host, const std::string& why);
  void answer(const launch::CallResult& result);
  std::optional<job::Verdict> verdict_now(TimePoint now) const;
  loop::Task<> watch();
  loop::Task<> finish(job::Verdict verdict);
  loop::Task<> say_who_is_missing();
  std::string missing() const;
  void post_members(job::Message type, std::string_view payload);

  HostContext& context_;
  Post post_;
  Phase phase_ = Phase::idle;
  bool closed_ = false;
  bool stopping_ = false;
  std::map<std::string, launch::HostCall> came_;  ///< Hosts that have called.
  std::map<std::string, std::string> gone_;       ///< Hosts that never will, and why.
  std::optional<launch::Call> own_;
  launch::CallEnd on_end_;
  bool whole_job_ = false;
  bool launcher_running_ = false;  ///< Or about to.
  coordinate::FirstCause cause_;
  std::map<int, std::shared_ptr<Daemon>> daemons_;  ///< By exec id.
  int daemons_made_ = 0;
  std::set<std::string> deciding_;  ///< Hosts whose share of a direct call still decides.
  std::set<std::string> draining_;
  std::optional<job::Verdict> last_failure_;
  loop::Event changed_;
};

}  // namespace muster::calls
