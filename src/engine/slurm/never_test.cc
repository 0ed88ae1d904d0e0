#include "engine/slurm/never.h"

#include <doctest/doctest.h>

namespace muster::slurm {
namespace {

TEST_CASE("never: GPUs of a node, of all types") {
  CHECK(gpus_in("") == 0);
  CHECK(gpus_in("gpu:4") == 4);
  CHECK(gpus_in("gpu:a100:4(S:0-1)") == 4);
  CHECK(gpus_in("gpu:a100:2(S:0,1),nvme:7,gpu:v100:3,mps:400") == 5);
  CHECK(gpus_in("gpu:many,gpu:-3,gpu:") == 0);
}

TEST_CASE("never: what no node of the partition has is refused, whatever state nodes are in") {
  const std::vector<Node> nodes = nodes_from(
      "n1|idle|8|16000|(null)|main|none\n"
      "n2|drained*|8|16000|(null)|main|none\n"
      "g1|powered_down|64|515000|gpu:a100:4(S:0-1)|gpu|none\n"
      "g1|powered_down|64|515000|gpu:a100:4(S:0-1)|all|none\n"
      "n1|idle|8|16000|(null)|all|none\n");
  struct {
    const char* partition;
    int hosts, spares;
    std::int64_t mib, cpu_millis;
    int gpus;
    const char* want;
  } const cases[] = {
      {"main", 2, 0, 16000, 8000, 0, ""},
      {"main", 3, 0, 0, 0, 0, "requests 3 nodes, but partition main has only 2"},
      {"main", 2, 1, 0, 0, 0, "requests 3 nodes, but partition main has only 2"},
      {"main", 1, 0, 16001, 0, 0,
       "requests 16001 MiB of memory per node, but partition main has no node with more than "
       "16000"},
      {"main", 1, 0, 0, 8001, 0,
       "requests 9 processors per node, but partition main has no node with more than 8"},
      {"main", 1, 0, 0, 0, 1,
       "requests 1 GPU per node, but partition main has no node with more than 0"},
      {"gpu", 1, 0, 515000, 64000, 4, ""},
      {"all", 2, 0, 515000, 0, 4, ""},  // A node that has it, and two nodes.
      {"", 3, 0, 0, 0, 4, ""},
      {"", 4, 0, 0, 0, 0, "requests 4 nodes, but the cluster has only 3"},
      {"hidden", 99, 0, 0, 0, 9, ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.want);
    const Submission submission{.job = "j",
                                .nonce = "",
                                .nodes = one.hosts,
                                .spares = one.spares,
                                .memory_bytes = one.mib << 20,
                                .cpu_millis = one.cpu_millis,
                                .gpus = one.gpus};
    const std::string why = why_never(submission, {.partition = one.partition}, nodes);
    const std::string start = *one.want == 0 ? "" : "the job can never start: it ";
    CHECK(why == start + one.want);
  }
}

TEST_CASE("never: without a partition, the default one counts unless a plugin may choose another") {
  const std::vector<Node> nodes = nodes_from(
      "n1|idle|8|16000|(null)|main*|none\n"
      "n2|idle|8|16000|(null)|main*|none\n"
      "n2|idle|8|16000|(null)|all|none\n"
      "g1|idle|64|515000|gpu:4|gpu|none\n");
  struct {
    const char* partition;
    int hosts;
    std::int64_t mib;
    int gpus;
    bool may_be_routed;
    const char* want;
  } const cases[] = {
      {"", 2, 16000, 0, false, ""},
      {"", 3, 0, 0, false, "3 nodes, but partition main has only 2"},
      {"", 1, 0, 1, false, "1 GPU per node, but partition main has no node with more than 0"},
      {"", 1, 16001, 0, false,
       "16001 MiB of memory per node, but partition main has no node with more than 16000"},
      {"", 3, 0, 4, true, ""},
      {"", 4, 0, 0, true, "4 nodes, but the cluster has only 3"},
      {"gpu", 1, 515000, 4, false, ""},
      {"gpu", 2, 0, 0, true, "2 nodes, but partition gpu has only 1"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.want);
    const Submission submission{.job = "j",
                                .nonce = "",
                                .nodes = one.hosts,
                                .memory_bytes = one.mib << 20,
                                .gpus = one.gpus};
    const std::string start = *one.want == 0 ? "" : "the job can never start: it requests ";
    CHECK(why_never(submission, {.partition = one.partition}, nodes, one.may_be_routed) ==
          start + one.want);
  }
}

}  // namespace
}  // namespace muster::slurm
