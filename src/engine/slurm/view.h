#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/slurm/queries.h"

namespace muster::slurm {

// Pure: jobs and nodes of a cluster for people, and as JSON. Texts of other users (names of jobs,
// reasons of operators) are printed without control characters.

/// A table with its head; "no jobs".
std::string queue_table(const std::vector<QueuedJob>& jobs);
/// {"Jobs": [{"SlurmId", "Name", "User", "Partition", "State", "Text", "Nodes", "NodeList",
/// "Start"}]}; `Text` is what the table says of the job.
Json queue_json(const std::vector<QueuedJob>& jobs);

/// What else is known of nodes, by name; a column of the table where it is known of one at least.
using Remarks = std::map<std::string, std::string>;
/// All nodes as a table; "no nodes" if there are none. `health`: the words of their last
/// preflights.
std::string nodes_table(const std::vector<Node>& nodes, const Remarks& health = {});
/// {"Nodes": [{"Name", "State", "Text", "Cpus", "MemoryMiB", "Gpus", "Partitions", "Preflight"}]};
/// the last where there is one.
Json nodes_json(const std::vector<Node>& nodes, const Remarks& health = {});

}  // namespace muster::slurm
