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

/// The course of the collective calls of a job, as its leader decides it. One call at a time: it
/// gathers until every host of it has called, runs, ends what is left of it on every host, and is
/// answered to every host that made it.
///
/// What waits says for whom, every 10 s; there is no deadline
/// (docs/decisions/0012-collective-calls.md). A host that is lost ends the job, and with close()
/// all waiting. Pure: no clock, no sockets, no processes. Events go in by the methods, with `now`,
/// which must not go back (base/forward_time.h); what is to be done comes out of take_actions().
/// Source: docs/protocols/host-socket.md, "A call".
class CallCourse {
 public:
  struct Options {
    std::string host;        ///< Our own name, the leader's.
    Duration failure_grace;  ///< For what is left of a call that failed.
    Duration say_missing_every = std::chrono::seconds(10);
  };
  /// The number of a call, from 1; a number is never used twice.
  using Number = std::uint64_t;

  struct Action {
    enum class Kind {
      begin,    ///< Begin the share of each of `hosts`, as its own call says. Then `number` runs.
      launch,   ///< Start the launcher of `number`, here.
      release,  ///< After a stop: no rank runs any more, those kept back on `hosts` may go.
      drain,    ///< End what is left of the call on each of `hosts`, with `grace`.
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

  /// Takes the call of this host. `whole_job`: nothing follows the call, so what is left of it is
  /// left to the job's own end. Error: `closed`, one was made already that has no answer.
  Result<void> call(launch::Call call, bool whole_job, TimePoint now);
  void member_calls(const std::string& host, launch::HostCall call, TimePoint now);
  /// A host's own program has ended well: a call that waits for the host fails.
  void gone(const std::string& host);
  /// On `verdict.host`: the caller has exited or, on a member, a process of its share has ended.
  void ended(job::Verdict verdict, TimePoint now);
  /// As above for a rank of `verdict.host` whose launcher restarts it. This is not an end, unless a
  /// permanent failure follows soon: of a rank that blames a peer, or of the launcher.
  void restarts(job::Verdict verdict, TimePoint now);
  /// All that decides in the share of a member has ended.
  void done(const std::string& host, TimePoint now);
  /// Nothing is left of the call on a host.
  void drained(const std::string& host);
  /// A member is lost: nothing of a call is there to be drained. The job ends by others' means.
  void lost(const std::string& host, TimePoint now);

  // What happens in this host's own share; `number` is from Action::begin. What comes when that
  // call is over is passed over.
  void ended_here(Number number, job::Verdict verdict, TimePoint now);
  void restarts_here(Number number, job::Verdict verdict, TimePoint now);
  void done_here(Number number, TimePoint now);
  void launcher_ended(Number number, job::Verdict verdict, TimePoint now);

  /// The job was asked to stop: what fails from now on is a consequence, so a call ends when all of
  /// it has ended; one that does not run yet fails at once.
  void stop(TimePoint now);
  /// The job ends: makes no more decisions, and answers no caller.
  void close();
  /// Does what is due by `now`.
  void step(TimePoint now);

  std::optional<TimePoint> next_deadline() const;
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  /// The call of this host, from call() to its answer.
  const std::optional<launch::Call>& own() const { return own_; }
  /// The number of the last call that began; 0 before the first.
  Number number() const { return number_; }
  /// False after close().
  bool runs(Number number) const {
    return !closed_ && phase_ == Phase::running && number == number_;
  }
  /// Why the launcher may start no daemon on `host` now; none if it may.
  std::optional<std::string> refusal(const std::string& host) const;
  /// Hosts that the call waits for: to call too, or to end their share.
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
  std::set<std::string> gone_;                    ///< Hosts that never will again.
  std::optional<launch::Call> own_;
  std::set<std::string> parts_;  ///< The hosts of the own call.
  bool whole_job_ = false;
  bool launcher_running_ = false;  ///< Or about to.
  coordinate::FirstCause cause_;
  std::set<int> well_;    ///< Ranks that have ended well.
  std::set<int> failed_;  ///< Ranks that have not.
  /// Failures of ranks that are started again, by rank, and when.
  std::map<int, std::pair<TimePoint, job::Verdict>> restarting_;
  std::set<std::string> deciding_;  ///< Hosts whose share of a direct call still decides.
  job::Verdict verdict_;            ///< The verdict of the call that ends.
  std::set<std::string> draining_;
  TimePoint next_say_;
  std::optional<job::Verdict> last_failure_;
  std::vector<Action> actions_;
};

}  // namespace muster::calls
