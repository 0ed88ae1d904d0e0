#pragma once

#include "base/log.h"
#include "job/training.h"
#include "launch/plan.h"
#include "toolkit/host_run.h"
#include "toolkit/options.h"
#include "toolkit/output.h"

namespace muster::toolkit {

/// What a host's part of a job works with; all of it outlives the part.
struct HostContext {
  loop::Loop& loop;
  const job::Training& training;
  const TrainOptions& options;
  launch::HostPlan plan;
  std::string key;  ///< The job's key; empty for a job of one host.
  HostRun& host_run;
  Output& output;
  const Log& log;
};

/// A host's part of a job: the leader's (lead.h) or a member's (follow.h).
class Conduct {
 public:
  explicit Conduct(HostContext context) : context_(std::move(context)) {}
  Conduct(const Conduct&) = delete;
  Conduct& operator=(const Conduct&) = delete;
  virtual ~Conduct() = default;

  /// Runs the job's part of this host and ends it. The verdict is the job's.
  virtual loop::Task<job::Verdict> run() = 0;
  /// SIGTERM or SIGINT came: the job stops, on all hosts.
  virtual void stop(int signal) = 0;

 protected:
  const std::string& host() const { return context_.training.current_host; }
  /// Starts the script of a job without launcher on this host.
  Result<void> start_program(std::function<void(job::Verdict)> on_end);
  /// Starts a launcher's program (mpirun, its daemons); its own output goes to `sink`.
  Result<void> start_launcher_program(Command command, HostRun::Sink sink,
                                      std::function<void(job::Verdict)> on_end);
  /// Lets ranks of an MPI job come; their lines go to `sink`.
  Result<void> let_ranks_come(HostRun::Sink sink, std::function<void(job::Verdict)> on_rank_end,
                              std::function<void(AgentCall)> on_agent);
  /// A verdict that something of muster itself failed on this host.
  job::Verdict failed_here(const std::string& process, const Error& error) const;
  job::Verdict stopped_verdict(int signal) const;

  HostContext context_;
};

}  // namespace muster::toolkit
