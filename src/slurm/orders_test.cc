#include "slurm/orders.h"

#include <doctest/doctest.h>

#include "slurm/words.h"

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

TEST_CASE("slurm orders: a refusal is told from an answer that did not come") {
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

TEST_CASE("slurm orders: a job whose nodes are taken away says since when") {
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
  CHECK(node_named_by_sbcast("Slurm's sbcast says: REQUEST_FILE_BCAST(a-1): No space") == "a-1");
  for (const char* none : {"", "sbcast: error: Can't open", "REQUEST_FILE_BCAST(node2"})
    CHECK(node_named_by_sbcast(none) == "");
}

TEST_CASE("orders: a job that Slurm cancelled since a node could not start it") {
  const std::string shown =
      "JobId=1 JobName=x JobState=CANCELLED Reason=None Restarts=0 ExitCode=0:0 RunTime=00:00:00 "
      "NodeList=node[1-2] BatchHost=node1";
  CHECK(is_launch_failure(shown));
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"0:0 ", "0:15 "},
                                 {"CANCELLED", "RUNNING"},
                                 {"00:00:00", "00:00:07"},
                                 {"node[1-2]", "(null)"}}) {
    std::string other = shown;
    other.replace(other.find(from), from.size(), to);
    CHECK(!is_launch_failure(other));
  }
  CHECK(is_held_by_failed_launch("launch failed requeued held"));
  CHECK(!is_held_by_failed_launch("JobHeldUser"));
}

}  // namespace
}  // namespace muster::slurm
