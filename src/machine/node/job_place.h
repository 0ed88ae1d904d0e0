#pragma once

// Inside node/ only. Places: job/wire/node_place.h.

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster::node {

/// Removes the place that contains the file `job_file`, if it is a place of this user. Blocks.
/// Error: as remove_tree().
Result<void> remove_place_of(const std::string& job_file);

/// Removes this user's places in `folder` (/tmp) whose jobs have no running process here, because
/// all were killed at once. Blocks.
void remove_dead(const std::string& folder);

/// Removes files in `folder` (/tmp) of jobs that never started here: Slurm removes a job whose
/// prolog fails from its nodes, so no process of the job can clean up there. Only affects entries
/// of this user created before `before`: places without NodeJob::folder in them, and plain files
/// "muster-<16 hex digits>.<word>" without a place of that name next to them. Blocks.
void remove_unclaimed(const std::string& folder, UnixMillis before);

}  // namespace muster::node
