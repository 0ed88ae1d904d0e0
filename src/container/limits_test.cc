#include "container/limits.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

constexpr std::int64_t gibi = std::int64_t{1} << 30;

TEST_CASE("limits: all that jobs may take leaves the machine something") {
  for (const MachineSize& machine :
       {MachineSize{2 * gibi, 32768}, MachineSize{24 * gibi, 32768},
        MachineSize{2048 * gibi, 4 << 20}, MachineSize{gibi / 4, 4096}}) {
    CAPTURE(machine.memory_bytes);
    const JobLimits job = job_limits(machine);
    CHECK(job.memory_bytes < machine.memory_bytes);
    CHECK(job.memory_bytes >= machine.memory_bytes / 2);
    CHECK(job.processes <= machine.processes / 4 * 3);
    for (const int hosts : {1, 3, 64, 250}) {
      CAPTURE(hosts);
      const HostLimits host = host_limits(job, hosts, gibi, 0);
      CHECK((host.tmp_bytes + host.run_bytes + host.shm_bytes) * hosts < job.memory_bytes);
      CHECK(host.processes <= job.processes);
    }
  }
  CHECK(job_limits({24 * gibi, 32768}).memory_bytes == 24 * gibi - 24 * gibi / 10);
  CHECK(job_limits({2048 * gibi, 32768}).memory_bytes == 2044 * gibi);
}

TEST_CASE("limits: a host has what its job asks for where there is room") {
  const JobLimits job{20 * gibi, 24576};
  CHECK(host_limits(job, 2, gibi, 0).shm_bytes == gibi);
  CHECK(host_limits(job, 2, 8 * gibi, 0).shm_bytes == 10 * gibi / 4);
  CHECK(host_limits(job, 2, gibi, gibi).shm_bytes == gibi / 4);
  CHECK(host_limits(job, 2, gibi, gibi).tmp_bytes == gibi / 2);
  CHECK(host_limits(job, 2, gibi, 0).run_bytes == 64 << 20);
  CHECK(host_limits(job, 2, gibi, 0).processes == 16384);
}

}  // namespace
}  // namespace muster::container
