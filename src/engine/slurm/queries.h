#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

namespace muster::slurm {

// Pure: builds Slurm's query commands and parses their output. Fields with free text come last, so
// that a '|' in one of them shifts no other field. Names may even contain newlines, so malformed
// rows are skipped, and callers that look for their own jobs query only those of their own user.

/// One row of the queue, as Slurm prints it.
struct QueuedJob {
  std::string id{};  ///< "17", "17_3" of an array, "17_[4-9]".
  std::string state{};
  std::string reason{};
  int nodes = 0;
  std::string node_list{};  ///< "node[1-3]"; empty while it waits.
  std::string used{};       ///< "1-02:03:04"
  std::string start{};      ///< "2026-11-22T21:30:35", an estimate while it waits; empty: unknown.
  std::string end{};        ///< By its time limit, while it runs.
  std::string user{};
  std::string partition{};
  std::string name{};

  bool operator==(const QueuedJob&) const = default;
};

/// Lists all jobs, or only those of `user`: also ended ones, which Slurm keeps for its MinJobAge.
Args plan_squeue(const std::string& user);
std::vector<QueuedJob> queue_from(std::string_view text);

/// The job with that name; none if it does not exist.
std::optional<QueuedJob> find_named(const std::vector<QueuedJob>& jobs, std::string_view name);

/// One node, as Slurm prints it.
struct Node {
  std::string name{};
  std::string state{};
  int cpus = 0;
  std::int64_t memory_mib = 0;
  std::string gpus{};  ///< "gpu:a100:4"; empty: none.
  /// Why it is down or drained, as an operator or Slurm wrote it; may be empty.
  std::string reason{};
  std::vector<std::string> partitions{};
  /// The one of them that Slurm gives jobs without a partition; empty: none of them.
  std::string default_partition{};

  bool operator==(const Node&) const = default;
};

/// `nodes`: only these, in Slurm's notation; empty: all.
Args plan_sinfo(const std::string& nodes = "");
/// One for each node, in Slurm's order.
std::vector<Node> nodes_from(std::string_view text);

}  // namespace muster::slurm
