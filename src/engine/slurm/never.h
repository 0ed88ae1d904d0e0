#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/slurm/queries.h"
#include "engine/slurm/submission.h"

namespace muster::slurm {

/// The number of GPUs in "gpu:a100:4(S:0-1),gpu:v100:2"; other resources do not count. Pure.
int gpus_in(std::string_view resources);

/// Why no nodes of the site's partition can ever run the job, in whatever state they are: too few
/// of them, or none with enough memory, processors or GPUs. Empty if they can, or if no node of the
/// partition is in `nodes`. Without a partition, the nodes of Slurm's default partition count, or
/// all nodes if the cluster has no default partition or a plugin may choose another partition
/// (`may_be_routed`). Pure.
std::string why_never(const Submission& submission, const Site& site,
                      const std::vector<Node>& nodes, bool may_be_routed = false);

}  // namespace muster::slurm
