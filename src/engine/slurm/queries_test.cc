#include "engine/slurm/queries.h"

#include <doctest/doctest.h>

namespace muster::slurm {
namespace {

TEST_CASE("squeue is asked for all jobs or one user's, also for those that are over") {
  const Args all = {"squeue", "-h", "-t", "all", "-o", "%i|%T|%r|%D|%N|%M|%S|%e|%u|%P|%j"};
  CHECK(plan_squeue("") == all);
  const Args own = plan_squeue("ann");
  CHECK(Args(own.begin(), own.end() - 2) == all);
  CHECK(Args(own.end() - 2, own.end()) == Args{"-u", "ann"});
}

// As squeue of Slurm 22.05 wrote them.
constexpr const char* waiting =
    "7|PENDING|Resources|3||0:00|2026-11-22T21:35:00|2026-11-22T22:35:00|root|main|demo";
constexpr const char* running =
    "6|RUNNING|None|2|node[1-2]|1:05|2026-11-22T21:30:00|NONE|root|main|muster-a|b";

TEST_CASE("rows of the queue are read, also where a name holds a bar") {
  const std::vector<QueuedJob> jobs = queue_from(std::string(waiting) + "\n" + running + "\n");
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0] == QueuedJob{.id = "7",
                             .state = "PENDING",
                             .reason = "Resources",
                             .nodes = 3,
                             .used = "0:00",
                             .start = "2026-11-22T21:35:00",
                             .end = "2026-11-22T22:35:00",
                             .user = "root",
                             .partition = "main",
                             .name = "demo"});
  CHECK(jobs[1].node_list == "node[1-2]");
  CHECK(jobs[1].end.empty());  // No time limit.
  CHECK(jobs[1].name == "muster-a|b");
  CHECK(jobs[1].end == "");
}

TEST_CASE("malformed rows are skipped, and shift no other row") {
  for (const char* bad : {"", "slurm_load_jobs error: x", "x|RUNNING|None|1|n|0|N/A|N/A|u|p|n",
                          "7|RUNNING|None|one|n|0|N/A|N/A|u|p|n", "7||None|1|n|0|N/A|N/A|u|p|n",
                          "7|RUNNING|None|1|n|0|N/A|N/A|u|p"}) {
    CAPTURE(bad);
    CHECK(queue_from(std::string(bad) + "\n" + waiting).size() == 1);
  }
}

TEST_CASE("a node of several partitions is one node, with its operator's reason for the drain") {
  const Args all = {"sinfo", "-h", "-N", "-o", "%N|%T|%c|%m|%G|%P|%E"};
  CHECK(plan_sinfo() == all);
  CHECK(plan_sinfo("node[1-2]").back() == "node[1-2]");
  const std::vector<Node> nodes = nodes_from(
      "node1|idle|2|4000|(null)|urgent|none\n"
      "node1|idle|2|4000|(null)|main*|none\n"
      "node1|idle|2|4000|(null)|all|none\n"
      "node2|drained*|64|515000|gpu:a100:4|main|disk | full\n"
      "node3|idle|many|4000|(null)|main|none\n");
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0] == Node{.name = "node1",
                         .state = "idle",
                         .cpus = 2,
                         .memory_mib = 4000,
                         .gpus = "",
                         .reason = "",
                         .partitions = {"all", "main", "urgent"},
                         .default_partition = "main"});
  CHECK(nodes[1].partitions == std::vector<std::string>{"main"});
  CHECK(nodes[1].default_partition.empty());
  CHECK(nodes[1].gpus == "gpu:a100:4");
  CHECK(nodes[1].reason == "disk | full");
}

}  // namespace
}  // namespace muster::slurm
