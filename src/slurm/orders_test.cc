#include "slurm/orders.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace muster::slurm
