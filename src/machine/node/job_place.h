#pragma once

// Inside node/ only.

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster::node {

/// The folder that a job has to itself on its node, "muster-<16 hex digits>", which the script of
/// its Slurm job makes (docs/protocols/slurm-job.md): its files come there, and `sm node` makes
/// NodeJob::folder in it.

/// True for the name of one.
bool is_place(const std::string& name);

/// The place that `path` lies in; `path` itself where it lies in none.
std::string place_around(const std::string& path);

/// Removes the place that the file `job_file` was brought to, if it is one, and this user's.
/// Blocks. Error: as remove_tree().
Result<void> remove_place_of(const std::string& job_file);

/// Removes places in `folder` (/tmp) of this user's whose jobs have no living process here: all
/// were killed at once. Blocks.
void remove_dead(const std::string& folder);

/// Removes files in `folder` (/tmp) of jobs that never started here: Slurm takes a job whose prolog
/// fails away from its nodes, and no process of the job runs there that could clean up. Only
/// affects entries of this user created before `before`: places without NodeJob::folder in them,
/// and plain files "muster-<16 hex digits>.<word>" without a place of that name next to them.
/// Blocks.
void remove_unclaimed(const std::string& folder, UnixMillis before);

}  // namespace muster::node
