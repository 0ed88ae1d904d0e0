#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/calls/call_course.h"
#include "host/calls/output.h"
#include "host/ranks/host_run.h"
#include "host/ranks/messages.h"
#include "job/launch/call.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"

namespace muster::calls {

struct HostContext;

/// The leader's side of collective calls: carries out what CallCourse (call_course.h) decides. Runs
/// the launcher and this host's share, sends messages to the members, and starts the launcher's
/// daemons on the hosts that it requests.
class CallLead {
 public:
  using Post =
      std::function<void(const std::string& host, job::Message type, std::string_view payload)>;
  /// `post` sends to a member; both outlive this.
  CallLead(HostContext& context, Post post);

  /// Accepts this host's call; parameters and error as in CallCourse::call().
  Result<void> call(launch::Call call, launch::CallEnd on_end, bool whole_job);
  /// A member calls.
  void member_calls(const std::string& host, launch::HostCall call);
  /// A host's own program has succeeded.
  void gone(const std::string& host);
  void lost(const std::string& host);
  /// As CallCourse::ended().
  void ended(job::Verdict verdict);
  /// As CallCourse::restarts().
  void restarts(job::Verdict verdict);
  /// All processes that decide the result have ended in a member's share.
  void host_done(const std::string& host);
  void member_drained(const std::string& host);
  void member_output(const Frame& frame);
  /// True while an agent of mpirun is far behind in passing on its daemon's output.
  bool behind() const { return slow_daemon() != nullptr; }
  /// Waits until none is.
  loop::Task<> room();
  void member_daemon_ended(const std::string& host, const Frame& frame);
  void agent(ranks::AgentCall call);

  /// The job was asked to stop: failures from now on are consequences.
  void stop();
  /// The job ends: from now on no call starts or ends.
  void close();
  /// How the last call ended, if it failed.
  const std::optional<job::Verdict>& last_failure() const { return course_.last_failure(); }

 private:
  struct Daemon;
  using Action = CallCourse::Action;
  using Number = CallCourse::Number;

  /// Carries out the course's actions, after each event.
  void turn();
  void carry_out(const Action& action);
  void begin(const Action& action);
  loop::Task<> launch(Number number);
  Result<void> start_launcher(Number number);
  loop::Task<> drain(Duration grace);
  void answer(const Action& action);
  void give_up_daemons();
  loop::Task<> keep_time();
  static loop::Task<> let_go(std::shared_ptr<Daemon> daemon, int code, std::string why);
  Result<void> start_daemon(const std::shared_ptr<Daemon>& daemon, ranks::HostRun::Program program);
  void open_session(int id, const std::shared_ptr<Daemon>& daemon, ranks::HostRun::Program program);
  std::shared_ptr<Daemon> release_daemon(int id, const job::Outcome& outcome);
  void post_members(const Args& hosts, job::Message type, std::string_view payload);
  std::shared_ptr<Daemon> slow_daemon() const;
  const std::string& self() const;

  HostContext& context_;
  Post post_;
  CallCourse course_;
  launch::CallEnd on_end_;                          ///< For this host's own call.
  std::map<int, std::shared_ptr<Daemon>> daemons_;  ///< By exec id.
  std::vector<ranks::AgentCall::Reply>
      left_;  ///< Replies to agents whose daemons a drain gave up on.
  int daemons_made_ = 0;
  bool in_turn_ = false;
  loop::Event moved_;
  loop::Tasks tasks_;
};

}  // namespace muster::calls
