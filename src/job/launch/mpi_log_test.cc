#include "job/launch/mpi_log.h"

#include <doctest/doctest.h>

namespace muster::launch {
namespace {

HostPlan plan_of(bool leads) {
  HostPlan plan;
  plan.launcher = Launcher::mpi;
  plan.hosts = {"algo-1", "algo-2"};
  plan.ranks_total = 4;
  if (leads) plan.launcher_command = Command{{"mpirun"}, {}, ""};
  return plan;
}

TEST_CASE("mpi log: the leading host says the reference's counts") {
  Inputs inputs;
  inputs.processes_per_host = 2;
  CHECK(mpi_log(inputs, plan_of(true)) ==
        Args{"Starting MPI run as worker node.",
             "Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1:2', 'algo-2:2'] "
             "process_per_hosts: 2 num_processes: 4",
             "Network interface name: eth0"});
  inputs.processes_per_host = 1;
  CHECK(mpi_log(inputs, plan_of(true))[1] ==
        "Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1', 'algo-2'] "
        "process_per_hosts: 1 num_processes: 4");
}

TEST_CASE("mpi log: the other hosts say that they wait") {
  CHECK(mpi_log({}, plan_of(false)) ==
        Args{"Starting MPI run as worker node.", "Waiting for MPI process to finish."});
}

}  // namespace
}  // namespace muster::launch
