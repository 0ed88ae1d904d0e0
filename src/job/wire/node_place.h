#pragma once

#include <string>

namespace muster::job {

/// A job's private folder on its node, "muster-<16 hex digits>", which the script of its Slurm job
/// creates (docs/protocols/slurm-job.md). The job's files are moved there, and `sm node` creates
/// NodeJob::folder in it.

/// True for the name of such a folder.
bool is_place(const std::string& name);

/// The place that contains `path`; `path` itself if there is none.
std::string place_around(const std::string& path);

}  // namespace muster::job
