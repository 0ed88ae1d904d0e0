#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"

namespace muster::slurm {

// Pure: what Slurm is told about a job that it has, and what sbatch answers.

/// The id that `sbatch --parsable` prints: "17", or "17;cluster". None for anything else.
std::optional<std::string> submitted_id(std::string_view out);

/// True if a command says on its standard error that it has not reached the controller, or no
/// answer of it: what was asked for may have been done all the same.
bool is_no_answer(std::string_view err);

/// Reads what `scontrol -o show job` prints of a job that squeue shows as cancelled: true if nobody
/// did that, but Slurm itself since a node could not start the job (its prolog failed). Seen with
/// 22.05: ExitCode is 0:0 then, and 0:15 after a scancel.
bool is_launch_failure(std::string_view shown);

/// The node that sbcast names in what it says of a failure ("REQUEST_FILE_BCAST(node2): No space
/// left on device"); empty: none.
std::string node_named_by_sbcast(std::string_view said);

/// Copies `from`, a file of this machine, to `to` on each node of the running job `id`, with its
/// mode. It fails where a file of that name is there.
Args plan_sbcast(const std::string& id, const std::string& from, const std::string& to);

/// Ends a job, whether it waits or runs: SIGTERM, and SIGKILL after Slurm's KillWait. A job that is
/// not known is no error to scancel.
Args plan_scancel(const std::string& id);
/// As above, a job whose id was never told.
Args plan_scancel_named(const std::string& slurm_name);

/// What Slurm says of one job, while it knows it.
Args plan_show_job(const std::string& id);
/// True if that says that Slurm takes the job's nodes away for another, which its state says only
/// where it does not end within its grace.
bool is_preempted(std::string_view shown);

}  // namespace muster::slurm
