#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "engine/slurm/queries.h"

namespace muster::slurm {

// Pure: commands to Slurm about an existing job, and sbatch's responses.

/// The id that `sbatch --parsable` prints: "17", or "17;cluster". None for anything else.
std::optional<std::string> submitted_id(std::string_view out);

/// True if a command's standard error says that it did not reach the controller, or got no response
/// from it. The request may have been carried out all the same.
bool is_no_answer(std::string_view err);

/// Why squeue shows a job as cancelled before it started, although no user cancelled it: Slurm did,
/// because a node could not start it. `shown` is the output of `scontrol -o show job`, `nodes` are
/// the job's. Empty: a user cancelled it. Seen with 22.05: Slurm drains a node whose prolog failed
/// with the reason "Prolog error", a millisecond after it cancelled the job; ExitCode is 0:0 then,
/// as after a scancel during the prolog, and 0:15 after a later one.
std::string launch_failure(std::string_view shown, const std::vector<Node>& nodes);
/// A node that could not start its part of a job, and why.
struct StartFailure {
  std::string node;
  std::string why;
  bool operator==(const StartFailure&) const = default;
};
/// What the script of the submission `nonce` has put down in the job's comment (batch_script()).
std::optional<StartFailure> start_failure(std::string_view shown, std::string_view nonce);
/// Names of the nodes that Slurm has given up, and why, as text for people; empty if there are
/// none.
std::string down_among(const std::vector<Node>& nodes);

/// The nodes of the job that is shown, as Slurm writes them: "node[1-2]". Empty: none.
std::string nodes_shown(std::string_view shown);

/// The node that sbcast names in its error message ("REQUEST_FILE_BCAST(node2): No space left on
/// device"); empty: none.
std::string node_named_by_sbcast(std::string_view said);

/// True if sbcast failed because Slurm has ended the job: then Slurm's state of the job explains
/// more.
bool is_over_to_sbcast(std::string_view said);

/// Copies `from`, a file of this machine, to `to` on each node of the running job `id`, with its
/// mode. It fails if a file of that name exists there.
Args plan_sbcast(const std::string& id, const std::string& from, const std::string& to);

/// Ends a job, whether it waits or runs: SIGTERM, and SIGKILL after Slurm's KillWait. scancel does
/// not report an error for an unknown job.
Args plan_scancel(const std::string& id);
/// As above, for a job whose id is not known.
Args plan_scancel_named(const std::string& slurm_name);

/// Asks what Slurm knows about one job; only while it still lists the job.
Args plan_show_job(const std::string& id);
/// True if that output says that Slurm takes the job's nodes away for another job. The job's state
/// says so only if it does not end within its grace period.
bool is_preempted(std::string_view shown);

}  // namespace muster::slurm
