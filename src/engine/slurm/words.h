#pragma once

#include <string>
#include <string_view>

namespace muster::slurm {

// Pure: what Slurm's states and reasons mean, in plain words. Source: squeue(1), "JOB STATE CODES"
// and "JOB REASON CODES"; sinfo(1), "NODE STATE CODES"; what they were seen to do:
// docs/decisions/0047-slurm.md.

enum class Standing {
  waiting,   ///< Has no nodes yet.
  starting,  ///< Nodes are made ready for it.
  running,
  suspended,  ///< Has its nodes and is not let run.
  ending,
  over,
  unknown,  ///< A state that we do not know: a newer Slurm's.
};

/// `state` in full, as `squeue -o %T` has it: "PENDING", "NODE_FAIL", "CANCELLED by 1000".
Standing standing_of(std::string_view state);

/// Why a job waits, for a person: "nodes are not free yet (Resources)". Slurm's own word is in
/// parentheses, or alone if it is unknown here. Empty for "None".
std::string why_it_waits(std::string_view reason);
/// True if a node could not start the job, and Slurm holds it until it is released.
bool is_held_by_failed_launch(std::string_view reason);

/// How a job ended, for jobs whose stewards have not reported it.
struct JobEnd {
  std::string status;          ///< SageMaker's TrainingJobStatus: Completed, Failed, Stopped.
  std::string secondary;       ///< SecondaryStatus: Interrupted, MaxRuntimeExceeded, ...
  std::string reason;          ///< FailureReason, beginning with whose fault it is; or empty.
  bool node_at_fault = false;  ///< Another attempt had better go to other nodes.

  bool operator==(const JobEnd&) const = default;
};
/// `state` must be one of an ended job; `reason` is Slurm's and may be empty or "None". Slurm's
/// COMPLETED is only about its script, which succeeds whatever the stewards report.
JobEnd end_of(std::string_view state, std::string_view reason);

/// A node's state in plain words, from the output of `sinfo -o %T`: "idle" -> "free", "allocated*"
/// -> "in use, does not answer".
std::string node_words(std::string_view state);

}  // namespace muster::slurm
