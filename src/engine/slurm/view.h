#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/slurm/queries.h"

namespace muster::slurm {

// Pure: jobs and nodes of a cluster for people, and as JSON. Texts of other users (names of jobs,
// reasons of operators) are printed without control characters.

/// "2026-11-22T21:30:35", as Slurm prints it -> "2026-11-22 21:30"; other texts stay as they are.
std::string slurm_minute(const std::string& time);
/// How one of Slurm's times is shown.
using TimeWords = std::function<std::string(const std::string&)>;

/// A table with its head; "no jobs". Below it are the commands for muster's jobs, with the IDs of
/// their earlier attempts. `over`: the table also has jobs that are over.
std::string queue_table(const std::vector<QueuedJob>& jobs, bool over,
                        const TimeWords& time = slurm_minute);
/// {"Jobs": [{"SlurmId", "Name", "User", "Partition", "State", "Text", "Nodes", "NodeList",
/// "Start"}]}; `Text` is what the table says of the job.
Json queue_json(const std::vector<QueuedJob>& jobs, bool over);

/// What else is known of nodes, by name; a column of the table where it is known of one at least.
using Remarks = std::map<std::string, std::string>;
/// All nodes as a table; "no nodes" if there are none. `health`: the words of their last
/// preflights.
std::string nodes_table(const std::vector<Node>& nodes, const Remarks& health = {});
/// {"Nodes": [{"Name", "State", "Text", "Cpus", "MemoryMiB", "Gpus", "Partitions", "Preflight"}]};
/// the last where there is one.
Json nodes_json(const std::vector<Node>& nodes, const Remarks& health = {});

/// At most `most` nodes, those with a reason first, for a page: {"Nodes": as nodes_json(), "Count":
/// all of them, "States": [{"Text", "Count"}], the most frequent first}.
Json nodes_page(std::vector<Node> nodes, std::size_t most, const Remarks& health = {});

}  // namespace muster::slurm
