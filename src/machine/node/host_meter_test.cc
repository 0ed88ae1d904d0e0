#include "machine/node/host_meter.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace muster::node {
namespace {

TEST_CASE(
    "host meter: a step's groups are distinguished from those of daemons and of whole nodes") {
  for (const char* own : {"/slurm/uid_0/job_7/step_0/task_0", "/slurm/uid_1000/job_7/step_batch",
                          "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0"})
    CHECK(is_of_step(own));
  for (const char* others :
       {"/", "", "/slurm/uid_0/job_7", "/system.slice/slurmd.service", "/misstep_0", "/step"})
    CHECK(!is_of_step(others));
}

TEST_CASE("host meter: without a step processes are counted, and time never goes back") {
  job::HostSpec spec;
  spec.light = true;
  loop::Loop loop;
  supervise::Programs programs(loop);
  HostMeter meter(programs, spec, {});
  const Result<job::Usage> used = meter.measure(::getpid(), "127.0.0.1");
  REQUIRE(used);
  CHECK(used->processes >= 1);
  CHECK(used->memory_bytes > 0);
  CHECK(used->network == job::Flow{});  // No host has the loopback interface as its network.
  const Result<job::Usage> hasty = meter.measure(::getpid(), "127.0.0.1");
  REQUIRE(!hasty);
  CHECK(hasty.error().code == Errc::timeout);
}

}  // namespace
}  // namespace muster::node
