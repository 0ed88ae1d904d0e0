#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "slurm/queries.h"

namespace muster::slurm {

// Pure: jobs and nodes of a cluster for people, and as JSON. What others wrote (names of jobs,
// reasons of operators) stands in lines without control characters.

/// A table with its head; "no jobs".
std::string queue_table(const std::vector<QueuedJob>& jobs);
/// {"Jobs": [{"SlurmId", "Name", "User", "Partition", "State", "Text", "Nodes", "NodeList",
/// "Start"}]}; `Text` is what the table says of the job.
Json queue_json(const std::vector<QueuedJob>& jobs);

/// Likewise; "no nodes".
std::string nodes_table(const std::vector<Node>& nodes);
/// {"Nodes": [{"Name", "State", "Text", "Cpus", "MemoryMiB", "Gpus", "Partitions"}]}
Json nodes_json(const std::vector<Node>& nodes);

}  // namespace muster::slurm
