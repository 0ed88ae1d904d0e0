#include "engine/slurm/view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::slurm {
namespace {

const std::vector<QueuedJob> four = {
    {.id = "7",
     .state = "PENDING",
     .reason = "Resources",
     .nodes = 3,
     .start = "2026-11-22T21:35:00",
     .user = "ann",
     .partition = "main",
     .name = "muster-demo-0123456789abcdef"},
    {.id = "6",
     .state = "RUNNING",
     .nodes = 2,
     .node_list = "node[1-2]",
     .end = "2026-11-22T22:35:00",
     .user = "bob",
     .partition = "main",
     .name = "x\x1b[2J"},
    {.id = "5", .state = "NODE_FAIL", .nodes = 1, .user = "bob", .partition = "main", .name = "y"},
    {.id = "4", .state = "PENDING", .nodes = 1, .user = "bob", .partition = "main", .name = "z"}};

TEST_CASE(
    "the queue is a table of plain words, and no name can send control characters to a terminal") {
  CHECK(queue_table({}, true) == "no jobs\n");
  CHECK(queue_table(four, true) ==
        "ID  NAME      USER  PARTITION  STATE    NODES  DETAIL\n"
        "7   demo      ann   main       Pending  3      nodes are not free yet (Resources), may "
        "start at 2026-11-22 21:35\n"
        "6   x\\x1b[2J  bob   main       Running  2      node[1-2], until 2026-11-22 22:35\n"
        "5   y         bob   main       Failed   1      InternalServerError: Slurm lost one of the "
        "job's nodes\n"
        "4   z         bob   main       Pending  1\n"
        "demo: squeue -j 7, scancel 7\n");
}

TEST_CASE("the queue's times are shown as the caller shows times, but for the JSON") {
  const auto zoned = [](const std::string& time) { return slurm_minute(time) + " +01:00"; };
  const std::string table = queue_table(four, false, zoned);
  CHECK(table.find("may start at 2026-11-22 21:35 +01:00\n") != std::string::npos);
  CHECK(table.find("node[1-2], until 2026-11-22 22:35 +01:00\n") != std::string::npos);
  CHECK(slurm_minute("2026-11-22T21:35:00") == "2026-11-22 21:35");
  CHECK(slurm_minute("in 5 minutes") == "in 5 minutes");
}

TEST_CASE("the queue and the nodes are as docs/users/several-machines.md shows them") {
  const auto zoned = [](const std::string& time) { return slurm_minute(time) + " +01:00"; };
  std::vector<QueuedJob> jobs = {four[0], four[1]};
  jobs[1].name = "muster-train-0123456789abcdef";
  CHECK(queue_table(jobs, false, zoned) ==
        "ID  NAME   USER  PARTITION  STATE    NODES  DETAIL\n"
        "7   demo   ann   main       Pending  3      nodes are not free yet (Resources), may start "
        "at 2026-11-22 21:35 +01:00\n"
        "6   train  bob   main       Running  2      node[1-2], until 2026-11-22 22:35 +01:00\n"
        "demo: squeue -j 7, scancel 7\n"
        "train: squeue -j 6, scancel 6\n");
  std::vector<Node> nodes(2, {.name = "node1",
                              .state = "allocated",
                              .cpus = 64,
                              .memory_mib = 515000,
                              .gpus = "gpu:a100:4",
                              .partitions = {"main", "urgent"}});
  nodes[1].name = "node2";
  nodes[1].state = "drained";
  nodes[1].reason = "disk full";
  CHECK(nodes_table(nodes) ==
        "NODE   PARTITIONS   CPUS  MEMORY   GPUS        STATE\n"
        "node1  main,urgent  64    502 GiB  gpu:a100:4  in use\n"
        "node2  main,urgent  64    502 GiB  gpu:a100:4  drained: does not accept jobs (disk "
        "full)\n");
}

TEST_CASE("below the queue are the commands for muster's jobs, and their earlier attempts") {
  const auto job = [](const char* id, const char* state, const char* user, const char* name) {
    return QueuedJob{.id = id, .state = state, .user = user, .name = name};
  };
  const std::vector<QueuedJob> jobs = {job("9", "RUNNING", "ann", "muster-a-0123456789abcdef"),
                                       job("8", "NODE_FAIL", "ann", "muster-a-1123456789abcdef"),
                                       job("7", "PREEMPTED", "ann", "muster-a-2123456789abcdef"),
                                       job("6", "NODE_FAIL", "bob", "muster-a-3123456789abcdef"),
                                       job("5", "RUNNING", "ann", "a")};
  const std::string commands = "\na: squeue -j 9, scancel 9; earlier attempts: 8, 7\n";
  const std::string with_over = queue_table(jobs, true);
  CHECK(with_over.ends_with(commands));
  CHECK(with_over.find("\n8   a") != std::string::npos);
  // The IDs of jobs that are over are shown, too, when their rows are not.
  const std::string text = queue_table(jobs, false);
  CHECK(text.ends_with(commands));
  CHECK(text.find("\n8   a") == std::string::npos);
  CHECK(queue_json(jobs, false)["Jobs"].size() == 2);
  CHECK(queue_table({jobs[1]}, false) == "no jobs\n");
}

TEST_CASE("the queue as JSON has Slurm's words next to muster's") {
  const Json json = queue_json(four, true);
  REQUIRE(json["Jobs"].size() == 4);
  CHECK(json["Jobs"][0]["State"] == "PENDING");
  CHECK(json["Jobs"][0]["Name"] == "demo");
  CHECK(json["Jobs"][1]["Text"] == "node[1-2], until 2026-11-22 22:35");
}

TEST_CASE("nodes are listed with their resources, and the reason why one takes no jobs") {
  const std::vector<Node> two = {{.name = "node1",
                                  .state = "idle",
                                  .cpus = 2,
                                  .memory_mib = 4000,
                                  .partitions = {"main", "urgent"}},
                                 {.name = "node2",
                                  .state = "drained*",
                                  .cpus = 64,
                                  .memory_mib = 515000,
                                  .gpus = "gpu:a100:4",
                                  .reason = "disk full",
                                  .partitions = {"main"}}};
  CHECK(nodes_table({}) == "no nodes\n");
  CHECK(nodes_table(two) ==
        "NODE   PARTITIONS   CPUS  MEMORY    GPUS        STATE\n"
        "node1  main,urgent  2     4000 MiB  -           free\n"
        "node2  main         64    502 GiB   gpu:a100:4  drained: does not accept jobs, not "
        "responding "
        "(disk full)\n");
  CHECK(nodes_json(two)["Nodes"][1]["Cpus"] == 64);
  const Remarks health = {{"node2", "well, 2026-11-23 02:10"}, {"node9", "of another cluster"}};
  CHECK(nodes_table({two[0]}, health).find("PREFLIGHT") == std::string::npos);
  CHECK(nodes_table(two, health)
            .starts_with("NODE   PARTITIONS   CPUS  MEMORY    GPUS        STATE"));
  CHECK(nodes_table(two, health).find("free") < nodes_table(two, health).find("  -\n"));
  CHECK(nodes_table(two, health).ends_with("(disk full)  well, 2026-11-23 02:10\n"));
  CHECK(nodes_json(two, health)["Nodes"][1]["Preflight"] == "well, 2026-11-23 02:10");
  CHECK_FALSE(nodes_json(two, health)["Nodes"][0].contains("Preflight"));
}

TEST_CASE("a node is shown with the error because of which a job failed there") {
  const Node node{.name = "node7",
                  .state = "idle",
                  .cpus = 64,
                  .memory_mib = 515000,
                  .gpus = "gpu:a100:4",
                  .partitions = {"main"}};
  const Remarks health = {
      {"node7",
       "1 finding, 2026-11-27 14:02 +01:00: GPU 3 fell off the bus (Xid 79): not your code"}};
  CHECK(nodes_table({node}, health) ==
        "NODE   PARTITIONS  CPUS  MEMORY   GPUS        STATE  PREFLIGHT\n"
        "node7  main        64    502 GiB  gpu:a100:4  free   1 finding, 2026-11-27 14:02 +01:00: "
        "GPU 3 fell off the bus (Xid 79): not your code\n");
}

TEST_CASE("a page shows the nodes that take no jobs first, and counts those it leaves out") {
  std::vector<Node> nodes;
  for (int i = 1; i <= 4; ++i)
    nodes.push_back({.name = "node" + std::to_string(i), .state = "idle"});
  nodes[2].state = "down";
  nodes[2].reason = "disk full";
  const Json page = nodes_page(nodes, 2, {{"node3", "ok, 2026-11-27 14:02"}, {"node9", "ok"}});
  REQUIRE(page["Nodes"].size() == 2);
  CHECK(page["Nodes"][0]["Name"] == "node3");
  CHECK(page["Nodes"][0]["Preflight"] == "ok, 2026-11-27 14:02");
  CHECK(page["Nodes"][1]["Name"] == "node1");
  CHECK_FALSE(page["Nodes"][1].contains("Preflight"));
  CHECK(page["Count"] == 4);
  CHECK(page["States"] ==
        Json::parse(R"([{"Text": "free", "Count": 3}, {"Text": "down", "Count": 1}])"));
  CHECK(nodes_page({}, 2)["Count"] == 0);
}

}  // namespace
}  // namespace muster::slurm
