#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "engine/slurm/orders.h"
#include "engine/slurm/queries.h"
#include "engine/slurm/submission.h"
#include "os/supervise/programs.h"

namespace muster::cluster {

/// Runs Slurm's commands. Errors of all: `unsupported` if the command is not installed; `closed` if
/// it is unknown whether Slurm received the request (no response, or part of one); `system` with
/// the command's last line if Slurm refuses.
class Slurm {
 public:
  /// `env`: its PATH finds the commands, and SLURM_CONF the cluster.
  Slurm(supervise::Programs& programs, Env env);

  /// Submits `script`, a file of this machine, and returns the job's id. Also `invalid_input`, from
  /// slurm::plan_sbatch().
  loop::Task<Result<std::string>> submit(slurm::Submission submission, slurm::Site site,
                                         std::string script);
  /// All that Slurm knows about this user's jobs, including those that ended recently.
  loop::Task<Result<std::vector<slurm::QueuedJob>>> queue();
  loop::Task<Result<void>> broadcast(std::string id, std::string from, std::string to);
  loop::Task<Result<void>> cancel(std::string id);
  /// True if Slurm is taking the job's nodes away for another job.
  loop::Task<Result<bool>> is_preempted(std::string id);
  /// Why a node could not start its part of the job `id` of the submission `nonce`, as far as Slurm
  /// knows; none if the job did not end because of that.
  loop::Task<Result<std::optional<slurm::StartFailure>>> start_failure(std::string id,
                                                                       std::string nonce);
  /// What slurm::down_among() returns for the nodes `names`, which are in squeue's notation.
  loop::Task<Result<std::string>> down_among(std::string names);
  /// The nodes `names`; empty: all.
  loop::Task<Result<std::vector<slurm::Node>>> nodes(std::string names);
  /// slurm::may_route() of the cluster's settings; true if they are not known.
  loop::Task<bool> may_route();
  /// Between SIGTERM and SIGKILL: the cluster's KillWait. None, without an error, if it is not
  /// known.
  loop::Task<std::optional<std::chrono::seconds>> kill_wait();
  /// The time that the partition adds to that for preempted jobs; none if it is not known.
  loop::Task<std::optional<std::chrono::seconds>> grace_time(std::string partition);
  loop::Task<Result<void>> cancel_named(std::string slurm_name);

  supervise::Programs& programs() { return programs_; }

 private:
  Command with_env(Args argv) const { return {.argv = std::move(argv), .env = env_, .cwd = "/"}; }

  supervise::Programs& programs_;
  Env env_;
};

/// The output of one of Slurm's commands, as `argv` asks for it: variables such as SQUEUE_* and
/// SINFO_* do not change it. Errors as above.
loop::Task<Result<std::string>> ask_slurm(supervise::Programs& programs, Env env, Args argv);

}  // namespace muster::cluster
