#include "engine/slurm/orders.h"

#include <doctest/doctest.h>

#include "engine/slurm/words.h"

namespace muster::slurm {
namespace {

TEST_CASE("slurm orders: sbatch's answer is an id, with or without a cluster, and nothing else") {
  CHECK(submitted_id("17\n") == "17");
  CHECK(submitted_id("17;hpc\n") == "17");
  for (const char* text : {"", "\n", "Submitted batch job 17\n", "-3\n", "0\n", "17 x\n", ";hpc"}) {
    CAPTURE(text);
    CHECK(!submitted_id(text));
  }
}

TEST_CASE("slurm orders: a refusal is distinguished from a missing response") {
  CHECK(
      is_no_answer("sbatch: error: Batch job submission failed: Unable to contact slurm "
                   "controller (connect failure)"));
  CHECK(
      is_no_answer("sbatch: error: Batch job submission failed: Socket timed out on send/recv "
                   "operation"));
  CHECK(
      !is_no_answer("sbatch: error: invalid partition specified: gpu\n"
                    "sbatch: error: Batch job submission failed: Invalid partition name "
                    "specified"));
  CHECK(!is_no_answer(""));
}

TEST_CASE("slurm orders: a preempted job has the time of its preemption") {
  CHECK(is_preempted("JobId=5 JobState=RUNNING PreemptTime=2026-11-23T03:41:37 EndTime=Unknown"));
  CHECK(!is_preempted("JobId=5 PreemptEligibleTime=2026-11-23T03:41:37 PreemptTime=None"));
  CHECK(!is_preempted("JobId=5 PreemptTime="));
  CHECK(!is_preempted(""));
}

TEST_CASE("slurm orders: nothing is copied over another user's file, nothing cancelled with srun") {
  CHECK(plan_sbcast("17", "/a/b", "/tmp/c") == Args{"sbcast", "-j", "17", "-p", "/a/b", "/tmp/c"});
  CHECK(plan_show_job("17") == Args{"scontrol", "-o", "show", "job", "17"});
  CHECK(plan_scancel("17") == Args{"scancel", "17"});
  CHECK(plan_scancel_named("muster-a-0123456789abcdef") ==
        Args{"scancel", "--name=muster-a-0123456789abcdef"});
}

TEST_CASE("orders: the node that sbcast fails on is the one that it names") {
  CHECK(node_named_by_sbcast("REQUEST_FILE_BCAST(node2): Unspecified error") == "node2");
  CHECK(node_named_by_sbcast("Slurm's sbcast failed: REQUEST_FILE_BCAST(a-1): No space") == "a-1");
  CHECK_FALSE(is_over_to_sbcast("REQUEST_FILE_BCAST(a-1): No space left on device"));
  CHECK(is_over_to_sbcast("Slurm job 16 lookup error: Job/step already completing or completed"));
  CHECK(is_over_to_sbcast("Slurm job 16 lookup error: Invalid job id specified"));
  for (const char* none : {"", "sbcast: error: Can't open", "REQUEST_FILE_BCAST(node2"})
    CHECK(node_named_by_sbcast(none) == "");
}

TEST_CASE("orders: a job that Slurm cancelled since a node could not start it") {
  const std::string shown =
      "JobId=1 JobName=x JobState=CANCELLED Reason=None Restarts=0 ExitCode=0:0 RunTime=00:00:00 "
      "NodeList=node[1-2] BatchHost=node1";
  const std::vector<Node> well = {{.name = "node1"}, {.name = "node2"}};
  const std::vector<Node> drained = {{.name = "node1", .reason = "Prolog error"}};
  CHECK(nodes_shown(shown) == "node[1-2]");
  CHECK(nodes_shown("JobId=1 NodeList=(null) BatchHost=") == "");
  CHECK(launch_failure(shown, well).find("usually because its prolog failed") != std::string::npos);
  CHECK(launch_failure(shown, drained) == "node1 could not start the job: its prolog failed");
  const auto other = [&](const std::string& from, const std::string& to) {
    std::string text = shown;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(launch_failure(other("0:0 ", "0:15 "), drained) == "");
  CHECK(launch_failure(other("CANCELLED", "RUNNING"), drained) == "");
  CHECK(launch_failure(other("node[1-2]", "(null)"), drained) == "");
  const std::string long_prolog = other("00:00:00", "00:00:07");
  CHECK(launch_failure(long_prolog, drained) == "node1 could not start the job: its prolog failed");
  CHECK(launch_failure(long_prolog, well) == "");
  CHECK(is_held_by_failed_launch("launch failed requeued held"));
  CHECK(!is_held_by_failed_launch("JobHeldUser"));
}

TEST_CASE("slurm orders: a node that could not start its part is named in the job's comment") {
  const std::string before = "JobId=1 WorkDir=/tmp Comment=";
  const std::string after = "  StdErr=/dev/null Power= ";
  const auto found = [&](const std::string& comment) {
    return start_failure(before + comment + after, "0123456789abcdef");
  };
  CHECK(found("muster:0123456789abcdef|node2: Permission denied: /tmp/a.sm|") ==
        StartFailure{"node2", "Permission denied: /tmp/a.sm"});
  for (const char* none :
       {"", "muster:0123456789abcdef", "muster:0123456789abcdef|", "muster:0123456789abcdef||",
        "muster:0123456789abcdef|: why|", "muster:0123456789abcdef|node2|",
        "muster:fedcba9876543210|node2: why|", "node2: why|"}) {
    CAPTURE(none);
    CHECK(!found(none));
  }
}

TEST_CASE("orders: nodes that are down are named with what Slurm says of them") {
  CHECK(down_among({{.name = "node1", .state = "idle"}}) == "");
  CHECK(down_among({{.name = "node1", .state = "idle"},
                    {.name = "node2", .state = "down*", .reason = "Not responding"},
                    {.name = "node3", .state = "down"}}) ==
        "node2 is down, not responding: Not responding, node3 is down");
}

}  // namespace
}  // namespace muster::slurm
