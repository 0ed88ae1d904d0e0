#include "cli/doctor/doctor_slurm.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

slurm::Node node(const char* name, const char* state) {
  slurm::Node node;
  node.name = name;
  node.state = state;
  return node;
}

SlurmFacts good_cluster() {
  SlurmFacts facts;
  facts.settings = {{"SLURM_VERSION", "22.05.8"},  {"KillWait", "30 sec"},
                    {"SlurmdTimeout", "300 sec"},  {"ProctrackType", "proctrack/cgroup"},
                    {"TaskPlugin", "task/cgroup"}, {"ConstrainRAMSpace", "yes"},
                    {"PreemptMode", "REQUEUE"}};
  facts.nodes = {node("node1", "idle"), node("node2", "down*")};
  facts.address = "10.0.0.1";
  return facts;
}

Finding of(const SlurmFacts& facts, const std::string& what) {
  for (const Finding& each : findings(facts))
    if (each.what == what) return each;
  return {};
}

TEST_CASE("doctor of a cluster: one that can run jobs") {
  const SlurmFacts facts = good_cluster();
  CHECK(is_well(findings(facts)));
  CHECK(of(facts, "nodes").found == "1 of 2 can run jobs");
  CHECK(of(facts, "kill wait").good);
  CHECK(findings_text(findings(facts), false, "This cluster")
            .ends_with("This cluster can run jobs.\n"));
}

TEST_CASE("doctor of a cluster: problems that stop all jobs, and those that only affect some") {
  SlurmFacts facts = good_cluster();
  facts.no_settings = "there is no scontrol here";
  CHECK(findings(facts).size() == 1);
  CHECK_FALSE(is_well(findings(facts)));

  facts = good_cluster();
  facts.no_trial = "Slurm's sbatch failed: invalid partition specified: gpu";
  CHECK_FALSE(is_well(findings(facts)));
  facts = good_cluster();
  facts.nodes = {node("node1", "drained")};
  CHECK_FALSE(is_well(findings(facts)));
  facts = good_cluster();
  facts.settings["SLURM_VERSION"] = "16.05.1";
  CHECK_FALSE(is_well(findings(facts)));
  facts = good_cluster();
  facts.address.clear();
  CHECK_FALSE(is_well(findings(facts)));

  facts = good_cluster();
  facts.settings["KillWait"] = "5 sec";
  facts.settings["PreemptMode"] = "GANG,SUSPEND";
  facts.settings["ProctrackType"] = "proctrack/linuxproc";
  facts.settings.erase("ConstrainRAMSpace");
  CHECK(is_well(findings(facts)));
  for (const char* what : {"kill wait", "preemption", "proctrack", "limits"}) {
    CAPTURE(what);
    CHECK_FALSE(of(facts, what).good);
  }
}

TEST_CASE("doctor of a cluster: a site's limits, its resources, and what it never preempts") {
  SlurmFacts facts = good_cluster();
  facts.partitions = {{"main", "up", "1-00:00:00"}};
  for (const char* what :
       {"accounting", "select", "requeue", "MPI ports", "partitions", "lost nodes"}) {
    CAPTURE(what);
    CHECK(of(facts, what).good);
  }
  CHECK(of(facts, "partitions").found == "main up, at most 1-00:00:00");
  facts.settings["SlurmdTimeout"] = "0 sec";
  facts.settings["AccountingStoreFlags"] = "job_comment,job_env";
  facts.settings["SelectType"] = "select/linear";
  facts.partitions.push_back({"gpu", "down", "infinite"});
  CHECK(is_well(findings(facts)));
  for (const char* what : {"accounting", "select", "partitions", "lost nodes"}) {
    CAPTURE(what);
    CHECK_FALSE(of(facts, what).good);
  }
}

TEST_CASE("doctor of a cluster: a node with a wrong clock, no room, or a lack is named") {
  SlurmFacts facts = good_cluster();
  facts.asked = 1000;
  facts.answered = 1003;
  facts.words = std::vector<slurm::NodeWord>{
      {.name = "node1",
       .clock = 1001,
       .free_kib = 2 << 20,
       .user_namespaces = true,
       .runc = "/r",
       .python = "/p"},
      {.name = "node2", .clock = 1010.5, .free_kib = 1 << 10, .user_namespaces = false}};
  CHECK(of(facts, "clocks").found == "node2 +7.5 s");
  CHECK(of(facts, "room").found == "node2 1 MiB free");
  CHECK(of(facts, "namespaces").found == "node2 has none");
  CHECK(of(facts, "runc").found == "node2 has none");
  facts.words->pop_back();
  CHECK(of(facts, "clocks").good);
  CHECK(of(facts, "clocks").found == "on 1 node");
  facts.words.reset();
  facts.no_words = "no node is free";
  CHECK(of(facts, "probe").found == "no node is free");
  CHECK(is_well(findings(facts)));
}

}  // namespace
}  // namespace muster::cli
