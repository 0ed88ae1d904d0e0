#include "job/launch/mpi_log.h"

namespace muster::launch {
namespace {

/// As Python shows a list of names.
std::string python_list(const Args& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return "[" + text + "]";
}

}  // namespace

Args mpi_log(const Inputs& inputs, const HostPlan& plan) {
  Args lines = {"Starting MPI run as worker node."};
  if (!plan.launcher_command) {
    lines.emplace_back("Waiting for MPI process to finish.");
    return lines;
  }
  const std::string per_host = std::to_string(inputs.processes_per_host);
  Args slots = plan.hosts;
  if (inputs.processes_per_host != 1)
    for (std::string& host : slots) host += ":" + per_host;
  lines.push_back("Env Hosts: " + python_list(plan.hosts) + " Hosts: " + python_list(slots) +
                  " process_per_hosts: " + per_host +
                  " num_processes: " + std::to_string(plan.ranks_total));
  lines.push_back("Network interface name: " + inputs.interface);
  return lines;
}

}  // namespace muster::launch
