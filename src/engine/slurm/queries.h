#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

namespace muster::slurm {

// Pure: what Slurm's commands are asked, and what their text says. Fields that hold free text come
// last, so that a '|' in one of them moves no other. Names may even hold newlines: a row that is
// none is passed over, and who looks for jobs of their own asks for those of their own user.

/// One row of the queue, as Slurm has it.
struct QueuedJob {
  std::string id{};  ///< "17", "17_3" of an array, "17_[4-9]".
  std::string state{};
  std::string reason{};
  int nodes = 0;
  std::string node_list{};  ///< "node[1-3]"; empty while it waits.
  std::string used{};       ///< "1-02:03:04"
  std::string start{};  ///< "2026-11-22T21:30:35", where it waits an estimate; empty: not known.
  std::string end{};    ///< By its time limit, while it runs.
  std::string user{};
  std::string partition{};
  std::string name{};

  bool operator==(const QueuedJob&) const = default;
};

/// All jobs that wait or run, or only `user`'s; with `over` also those that are over, which Slurm
/// knows for its MinJobAge.
Args plan_squeue(const std::string& user, bool over);
std::vector<QueuedJob> queue_from(std::string_view text);

/// The job with that name; none if it does not exist.
std::optional<QueuedJob> find_named(const std::vector<QueuedJob>& jobs, std::string_view name);

/// One node, as Slurm has it.
struct Node {
  std::string name{};
  std::string state{};
  int cpus = 0;
  std::int64_t memory_mib = 0;
  std::string gpus{};    ///< "gpu:a100:4"; empty: none.
  std::string reason{};  ///< Why it is down or drained, as an operator or Slurm wrote it; or empty.
  std::vector<std::string> partitions{};

  bool operator==(const Node&) const = default;
};

/// `nodes`: of these alone, as Slurm writes them; empty: of all.
Args plan_sinfo(const std::string& nodes = "");
/// One for each node, in Slurm's order.
std::vector<Node> nodes_from(std::string_view text);

}  // namespace muster::slurm
