#include "container/host_limits.h"

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
      const HostLimits host = host_limits(job, {.hosts = hosts});
      CHECK((host.tmp_bytes + host.run_bytes + host.shm_bytes) * hosts < job.memory_bytes);
      CHECK(host.processes <= job.processes);
      const HostLimits with = host_limits(job, {.hosts = hosts, .has_gpus = true});
      if (job.memory_bytes / hosts >= 2 * gibi)
        CHECK((with.tmp_bytes + with.run_bytes + with.shm_bytes) * hosts < job.memory_bytes);
      CHECK(with.shm_bytes >= gibi);
    }
  }
  CHECK(job_limits({24 * gibi, 32768}).memory_bytes == 24 * gibi - 24 * gibi / 10);
  CHECK(job_limits({2048 * gibi, 32768}).memory_bytes == 2044 * gibi);
}

TEST_CASE("limits: a host has what its job asks for where there is room") {
  const JobLimits job{20 * gibi, 24576};
  const HostLimits plain = host_limits(job, {.hosts = 2});
  CHECK(plain.shm_bytes == gibi);
  CHECK(plain.run_bytes == 64 << 20);
  CHECK(plain.processes == 16384);
  CHECK(host_limits(job, {.hosts = 2, .shm_bytes = gibi / 8}).shm_bytes == gibi / 8);
  CHECK(host_limits(job, {.hosts = 2, .shm_bytes = 8 * gibi}).shm_bytes == 10 * gibi / 4);
  const HostLimits small = host_limits(job, {.hosts = 2, .memory_bytes = gibi});
  CHECK(small.shm_bytes == gibi / 4);
  CHECK(small.tmp_bytes == gibi / 2);
}

TEST_CASE("limits: /dev/shm of a host with GPUs is half of its memory") {
  const JobLimits job{96 * gibi, 24576};
  struct {
    const char* name;
    HostNeeds needs;
    std::int64_t want;
  } const cases[] = {
      {"alone on the machine", {.hosts = 1}, 48 * gibi},
      {"one of four", {.hosts = 4}, 12 * gibi},
      {"a limit of its own", {.hosts = 1, .memory_bytes = 16 * gibi}, 8 * gibi},
      {"at least 1 GiB", {.hosts = 1, .memory_bytes = gibi}, gibi},
      {"less by --shm-size", {.hosts = 1, .shm_bytes = gibi / 16}, gibi / 16},
      {"more than a quarter by --shm-size", {.hosts = 1, .shm_bytes = 40 * gibi}, 40 * gibi},
      {"more than half", {.hosts = 1, .shm_bytes = 90 * gibi}, 48 * gibi},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    HostNeeds needs = c.needs;
    needs.has_gpus = true;
    CHECK(host_limits(job, needs).shm_bytes == c.want);
  }
}

}  // namespace
}  // namespace muster::container
