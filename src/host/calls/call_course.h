#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/forward_time.h"
#include "base/time.h"
#include "host/coordinate/first_cause.h"
#include "job/launch/call.h"

namespace muster::calls {

/// The leader's decisions about a job's collective calls. There is one call at a time. It waits
/// until all of its hosts have called, runs, ends its remaining processes on every host, and sends
/// its result to every host that called.
///
/// A waiting call logs the missing hosts every 10 s; it has no deadline
/// (docs/decisions/0012-collective-calls.md). A lost host ends the job, and close() then ends all
/// waiting. Pure: no clock, no sockets, no processes. Its methods report events, with `now`, which
/// must not go back (base/forward_time.h); take_actions() returns the actions to carry out. Source:
/// docs/protocols/host-socket.md, "A call".
class CallCourse {
 public:
  struct Options {
    std::string host;        ///< Our own name, the leader's.
    Duration failure_grace;  ///< For the remaining processes of a failed call.
    Duration say_missing_every = std::chrono::seconds(10);
    /// Longer than ends of ranks and of mpirun take to arrive.
    Duration session_grace = std::chrono::seconds(10);
  };
  /// The number of a call, from 1; a number is never used twice.
  using Number = std::uint64_t;

  struct Action {
    enum class Kind {
      begin,    ///< Start the share of each of `hosts`, from its own call. Then `number` runs.
      launch,   ///< Start the launcher of `number`, here.
      release,  ///< After a stop: no rank runs any more; release those held on `hosts`.
      drain,    ///< End the call's remaining processes on each of `hosts`, with `grace`.
      answer,   ///< Send `result` to the caller on each of `hosts`.
      say,      ///< Log `text`.
    };
    Kind kind = Kind::say;
    Number number = 0;
    Args hosts = {};
    Duration grace = {};
    launch::CallResult result = {};
    std::string text = {};
  };

  explicit CallCourse(Options options) : options_(std::move(options)) {}

  /// Accepts this host's call. `whole_job`: nothing follows the call, so its remaining processes
  /// end with the job. Error: `closed` if an earlier call has no answer yet.
  Result<void> call(launch::Call call, bool whole_job, TimePoint now);
  void member_calls(const std::string& host, launch::HostCall call, TimePoint now);
  /// A host's own program has succeeded: a call that waits for this host fails.
  void gone(const std::string& host);
  /// On `verdict.host`: the caller has exited or, on a member, a process of its share has ended.
  void ended(job::Verdict verdict, TimePoint now);
  /// As above for a rank of `verdict.host` whose launcher restarts it. This is not an end, unless a
  /// permanent failure follows soon: of a rank that blames a peer, or of the launcher.
  void restarts(job::Verdict verdict, TimePoint now);
  /// All processes that decide the result have ended in a member's share.
  void done(const std::string& host, TimePoint now);
  /// No process of the call is left on a host.
  void drained(const std::string& host);
  /// A member is lost: it has no processes left to end. Other code ends the job.
  void lost(const std::string& host, TimePoint now);

  // Events of this host's own share; `number` is from Action::begin. Events of a call that has
  // ended are ignored.
  void ended_here(Number number, job::Verdict verdict, TimePoint now);
  void restarts_here(Number number, job::Verdict verdict, TimePoint now);
  void done_here(Number number, TimePoint now);
  void launcher_ended(Number number, job::Verdict verdict, TimePoint now);

  /// Over ssh: mpirun opens a session on `host` for its daemon; it has ended. A daemon outlives the
  /// ranks of its host, but mpirun takes exit code 0 for a daemon that runs in the background and
  /// waits for it. So the call fails if the launcher still runs `session_grace` later, and no rank
  /// of the host has ended.
  void session_begins(const std::string& host) { sessions_over_.erase(host); }
  void session_ended(Number number, const std::string& host, const job::Outcome& outcome,
                     TimePoint now);

  /// The job was asked to stop. Failures from now on are consequences, so a call ends when all of
  /// its processes have ended. A call that does not run yet fails at once.
  void stop(TimePoint now);
  /// The job ends: from now on this makes no decisions and answers no caller.
  void close();
  /// Handles the deadlines up to `now`.
  void step(TimePoint now);

  std::optional<TimePoint> next_deadline() const;
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  /// The call of this host, from call() to its answer.
  const std::optional<launch::Call>& own() const { return own_; }
  /// The number of the last call that started; 0 before the first.
  Number number() const { return number_; }
  /// False after close().
  bool runs(Number number) const {
    return !closed_ && phase_ == Phase::running && number == number_;
  }
  /// The reason why the launcher cannot start a daemon on `host` now; none if it can.
  std::optional<std::string> refusal(const std::string& host) const;
  /// Hosts that the call waits for: hosts that have not called, or whose share has not ended.
  Args missing() const;
  /// How the last call ended, if it failed.
  const std::optional<job::Verdict>& last_failure() const { return last_failure_; }

 private:
  enum class Phase { idle, gathering, running, ending };

  void came(const std::string& host, launch::HostCall call, TimePoint now);
  bool takes_part(const std::string& host) const;
  void look(TimePoint now);
  std::optional<std::string> objection(const std::string& host) const;
  void begin_if_complete(const std::string& news);
  void recall(TimePoint now);
  void begin();
  std::optional<job::Verdict> verdict(TimePoint now) const;
  bool is_excused(const job::Verdict& cause) const;
  void end(const job::Verdict& verdict, TimePoint now);
  void judge_sessions(TimePoint now);
  void fail_call(const std::string& host, const std::string& why);
  void refuse_outsider(const std::string& host, const std::string& name);
  void answer(const launch::CallResult& result);
  void say_missing(TimePoint now);

  Options options_;
  ForwardTime time_;
  Phase phase_ = Phase::idle;
  Number number_ = 0;
  bool closed_ = false;
  bool stopping_ = false;
  std::map<std::string, launch::HostCall> came_;  ///< Hosts that have called.
  std::set<std::string> gone_;                    ///< Hosts that will not call again.
  std::optional<launch::Call> own_;
  std::set<std::string> parts_;  ///< The hosts of this host's call.
  bool whole_job_ = false;
  bool launcher_running_ = false;  ///< Or is about to.
  coordinate::FirstCause cause_;
  std::set<int> well_;                    ///< Ranks that succeeded.
  std::set<int> failed_;                  ///< Ranks that failed.
  std::set<std::string> ranks_ended_on_;  ///< Hosts of at least one of them.
  /// Hosts to which a session has ended before a rank did, with the time and the failure.
  std::map<std::string, std::pair<TimePoint, job::Verdict>> sessions_over_;
  /// Failures of ranks that the launcher restarts, by rank, with their times.
  std::map<int, std::pair<TimePoint, job::Verdict>> restarting_;
  /// Hosts of a direct call on which deciding processes still run; in a stop, all hosts on which
  /// processes of the call do.
  std::set<std::string> deciding_;
  job::Verdict verdict_;  ///< The verdict of the call that is ending.
  std::set<std::string> draining_;
  TimePoint next_say_;
  std::optional<job::Verdict> last_failure_;
  std::vector<Action> actions_;
};

}  // namespace muster::calls
