#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/log.h"
#include "host/calls/output.h"
#include "host/calls/preflight.h"
#include "host/env/options.h"
#include "host/ranks/host_run.h"
#include "job/launch/call.h"
#include "job/training/training.h"

namespace muster::calls {

/// What a host does in a job: it runs one program, or makes one collective call.
struct Work {
  std::string name;  ///< For verdicts: the entry point.
  int rank = -1;     ///< The program's, if it is a rank: one script on each host.
  std::optional<Command> program;
  std::optional<launch::Call> call;
};

/// The host's work, or the failure of its preparation.
using Prepared = std::variant<Work, job::Verdict>;

/// The objects that a host's part of a job uses; all of them outlive the part.
struct HostContext {
  loop::Loop& loop;
  const job::Training& training;
  const env::TrainOptions& options;
  std::string key;  ///< The job's key; empty for a job of one host.
  ranks::HostRun& host_run;
  Output& output;
  const Log& log;
  /// Fetches the code and decides the work. Called once, when all hosts have joined.
  std::function<loop::Task<Prepared>()> prepare;
  bool socket = true;  ///< Whether ranks or operators may connect.
  Env for_operators;   ///< muster's own variables that operators in the program also need.
  PreflightOptions preflight = {};
};

/// The end of a host's `process`, without further details.
job::Verdict verdict_of(job::Outcome outcome, const std::string& host, const std::string& process);

/// A host's part of a job: the leader's (lead.h) or a member's (follow.h).
class Conduct {
 public:
  explicit Conduct(HostContext context) : context_(std::move(context)) {}
  Conduct(const Conduct&) = delete;
  Conduct& operator=(const Conduct&) = delete;
  virtual ~Conduct() = default;

  /// Runs this host's part of the job to its end. Returns the job's verdict.
  virtual loop::Task<job::Verdict> run() = 0;
  /// SIGTERM or SIGINT was received: the job stops, on all hosts.
  virtual void stop(int signal) = 0;
  /// How this host's own work ended, if it has.
  const std::optional<job::Verdict>& own_end() const { return own_end_; }

 protected:
  const std::string& host() const { return context_.training.current_host; }
  /// Opens the host's socket, if the job needs one.
  Result<void> open_socket();
  /// Prepares and does this host's work; host_ended() is called with its end.
  loop::Task<> work();
  /// The job cannot start: this host's work ends with `verdict`.
  void refuse_work(job::Verdict verdict);
  /// A stop was requested: work that has not started never starts.
  void give_up_work(int signal);

  /// The host itself makes a collective call. `whole_job`: the call is the host's work.
  virtual Result<void> call(launch::Call call, launch::CallEnd on_end, bool whole_job) = 0;
  /// The process that made a call has exited before its answer.
  virtual void call_gone(job::Verdict verdict) = 0;
  virtual void agent(ranks::AgentCall call) = 0;
  /// The host's own work has ended.
  virtual void host_ended(job::Verdict verdict) = 0;

  /// The verdict for a failure of muster itself on this host.
  job::Verdict failed_here(const std::string& process, const Error& error) const;
  job::Verdict stopped_verdict(int signal) const;

  /// Events that both a leader and a member report to the roll call.
  template <class Options>
  Options roll_call() const {
    Options options;
    options.job = context_.training.job_name;
    options.host = host();
    options.port = context_.options.port;
    options.key = context_.key;
    options.join_deadline = context_.options.join_deadline;
    options.heartbeat = context_.options.heartbeat;
    options.lost_after = context_.options.lost_after;
    return options;
  }

  HostContext context_;

 private:
  Result<void> begin(Work work);
  Result<void> start_program(const Work& work);
  void end_work(job::Verdict verdict);

  bool begun_ = false;
  bool given_up_ = false;
  std::optional<job::Verdict> own_end_;
};

}  // namespace muster::calls
