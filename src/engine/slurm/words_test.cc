#include "engine/slurm/words.h"

#include <doctest/doctest.h>

namespace muster::slurm {
namespace {

TEST_CASE("each of Slurm's states maps to a part of a job's life") {
  const struct {
    const char* state;
    Standing standing;
  } cases[] = {{"PENDING", Standing::waiting},
               {"CONFIGURING", Standing::starting},
               {"RUNNING", Standing::running},
               {"SUSPENDED", Standing::suspended},
               {"COMPLETING", Standing::ending},
               {"COMPLETED", Standing::over},
               {"CANCELLED by 0", Standing::over},
               {"CANCELLED+", Standing::over},
               {"NODE_FAIL", Standing::over},
               {"LAUNCH_FAILED_OF_2031", Standing::unknown},
               {"", Standing::unknown}};
  for (const auto& each : cases) {
    CAPTURE(each.state);
    CHECK(standing_of(each.state) == each.standing);
  }
}

TEST_CASE("a reason to wait is shown in plain words, with Slurm's own") {
  const struct {
    const char* reason;
    const char* words;
  } cases[] = {
      {"None", ""},
      {"Resources", "nodes are not free yet (Resources)"},
      {"Licenses", "licences are not free yet (Licenses)"},
      {"JobHeldUser", "held; run `scontrol release` to continue (JobHeldUser)"},
      {"QOSMaxJobsPerUserLimit", "the limit of its QOS is reached (QOSMaxJobsPerUserLimit)"},
      {"QOSGrpCpuLimit", "the limit for all jobs of its QOS is reached (QOSGrpCpuLimit)"},
      {"AssocGrpCPUMinutesLimit",
       "the limit for all jobs of its account is reached (AssocGrpCPUMinutesLimit)"},
      {"ReqNodeNotAvail, UnavailableNodes:node3",
       "nodes that it needs are down, drained or reserved (ReqNodeNotAvail, "
       "UnavailableNodes:node3)"},
      {"launch failed requeued held",
       "held: a node could not start it, usually because its prolog failed (launch failed requeued "
       "held)"},
      {"SomethingOf2031", "SomethingOf2031"}};
  for (const auto& each : cases) {
    CAPTURE(each.reason);
    CHECK(why_it_waits(each.reason) == each.words);
  }
}

TEST_CASE("an end in Slurm becomes SageMaker's statuses and a reason that says whose fault it is") {
  const struct {
    const char* state;
    const char* reason;
    JobEnd end;
  } cases[] = {
      {"COMPLETED", "None", {"Completed", "Completed", ""}},
      {"CANCELLED", "None", {"Stopped", "Stopped", "cancelled in Slurm"}},
      {"CANCELLED by 1000", "", {"Stopped", "Stopped", "cancelled in Slurm by user 1000"}},
      {"TIMEOUT",
       "TimeLimit",
       {"Stopped", "MaxRuntimeExceeded", "reached its time limit in Slurm (TimeLimit)"}},
      {"PREEMPTED",
       "None",
       {"Failed", "Interrupted", "CapacityError: preempted by Slurm for a higher-priority job"}},
      {"NODE_FAIL",
       "NodeDown",
       {"Failed", "Failed", "InternalServerError: Slurm lost one of the job's nodes (NodeDown)",
        true}},
      {"BOOT_FAIL", "", {"Failed", "Failed", "InternalServerError: a node failed to boot", true}},
      {"OUT_OF_MEMORY",
       "OutOfMemory",
       {"Failed", "Failed",
        "AlgorithmError: out of memory: a node exceeded the job's memory limit in Slurm"}},
      {"FAILED",
       "NonZeroExitCode",
       {"Failed", "Failed",
        "InternalServerError: Slurm could not finish the job's script (NonZeroExitCode)"}},
      {"NEW_END", "", {"Failed", "Failed", "InternalServerError: unexpected Slurm state NEW_END"}}};
  for (const auto& each : cases) {
    CAPTURE(each.state);
    CHECK(end_of(each.state, each.reason) == each.end);
  }
}

TEST_CASE("a node's state loses its marks to words") {
  const struct {
    const char* state;
    const char* words;
  } cases[] = {{"idle", "free"},
               {"allocated*", "in use, not responding"},
               {"idle~", "free, powered down"},
               {"drained*#", "drained: does not accept jobs, not responding, powering up"},
               {"warming", "warming"},
               {"", ""}};
  for (const auto& each : cases) {
    CAPTURE(each.state);
    CHECK(node_words(each.state) == each.words);
  }
}

}  // namespace
}  // namespace muster::slurm
