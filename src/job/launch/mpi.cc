#include <algorithm>

#include "base/text.h"
#include "job/launch/efa.h"
#include "job/launch/mpi_flavour.h"
#include "job/launch/mpi_line.h"
#include "job/launch/mpirun_options.h"
#include "job/launch/plan_inputs.h"
#include "job/limits.h"

namespace muster::launch {
namespace {

int ranks_total(const Inputs& inputs) {
  return inputs.processes.value_or(static_cast<int>(inputs.hosts.size()) *
                                   inputs.processes_per_host);
}

int ranks_here(const Inputs& inputs, Mapping mapping) {
  const int hosts = static_cast<int>(inputs.hosts.size());
  const int total = ranks_total(inputs);
  const auto at = std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host);
  const int index = static_cast<int>(at - inputs.hosts.begin());
  if (mapping == Mapping::by_node) return total / hosts + (index < total % hosts ? 1 : 0);
  if (mapping == Mapping::other || total > hosts * inputs.processes_per_host) return total;
  return std::clamp(total - index * inputs.processes_per_host, 0, inputs.processes_per_host);
}

Result<void> check_counts(const Inputs& inputs, const CustomOptions& custom) {
  const int slots = inputs.processes_per_host;
  if (slots < 1 || slots > job::processes_per_host_max)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_of_processes_per_host is " +
                                         std::to_string(slots) + "; expected a number from 1 to " +
                                         std::to_string(job::processes_per_host_max));
  const int total = ranks_total(inputs);
  if (total < 1 || total > job::ranks_max)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_processes is " + std::to_string(total) +
                                         "; expected a number from 1 to " +
                                         std::to_string(job::ranks_max));
  const std::size_t all = inputs.hosts.size() * static_cast<std::size_t>(slots);
  if (static_cast<std::size_t>(total) > all && !custom.oversubscribes)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_processes is " + std::to_string(total) +
                                         ", but " + std::to_string(inputs.hosts.size()) +
                                         " hosts with " + std::to_string(slots) +
                                         " processes each can run at most " + std::to_string(all) +
                                         " (the custom option -oversubscribe allows more)");
  return {};
}

Result<void> check_names(const Inputs& inputs) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (const std::string& host : inputs.hosts)
    if (host.empty() || host[0] == '-' || host.find_first_not_of(plain) != std::string::npos)
      return fail(Errc::invalid_input, "host \"" + to_utf8(host) + "\" is not a valid host name");
  const std::string& interface = inputs.interface;
  if (interface.empty() || interface[0] == '-' ||
      interface.find_first_of(" \t\n\",") != std::string::npos)
    return fail(Errc::invalid_input,
                "network interface \"" + to_utf8(interface) + "\" is not a valid interface name");
  return {};
}

Result<void> check_ports(const Options& options) {
  const auto port_range = [](const std::optional<PortRange>& range) {
    return !range || (range->first >= 1024 && range->last >= range->first);
  };
  if (!port_range(options.daemon_ports) || !port_range(options.message_ports))
    return fail(Errc::invalid_input,
                "expected a port range FIRST-LAST, with both ports from 1024 to 65535");
  return {};
}

Result<void> check_options(const Options& options) {
  if (options.agent.empty() || options.agent.find_first_of(" \t\n:\"'") != std::string::npos)
    return fail(Errc::invalid_input, "mpirun does not accept an agent named \"" + options.agent +
                                         "\": expected a path without spaces, ':' or quotes");
  return check_ports(options);
}

/// What the reference exports for NCCL and EFA. A value that the job's environment has stays.
Env fabric_variables(const Inputs& inputs, const Options& options, const CustomOptions& custom,
                     const Env& env) {
  Env variables = {{"NCCL_MIN_NRINGS", "4"}, {"NCCL_DEBUG", "INFO"}};
  if (!options.on_platform || env.contains("NCCL_SOCKET_IFNAME"))
    variables["NCCL_SOCKET_IFNAME"] = inputs.interface;
  if (has_efa(inputs.instance_type)) {
    variables["FI_PROVIDER"] = "efa";
    variables["NCCL_PROTO"] = "simple";
  }
  if (has_efa_rdma(inputs.instance_type)) variables["FI_EFA_USE_DEVICE_RDMA"] = "1";
  for (auto& [name, value] : variables)
    if (const Env::const_iterator at = env.find(name); at != env.end()) value = at->second;
  if (custom.nccl_debug) variables["NCCL_DEBUG"] = *custom.nccl_debug;
  return variables;
}

/// What keeps ranks under hydra to the job's ports, as -mca btl_tcp_* does under Open MPI. Its
/// libraries read these from each rank's own environment; what is set there stays.
void add_ports(Env& env, const Options& options) {
  if (!options.message_ports) return;
  const std::string first = std::to_string(options.message_ports->first);
  const std::string last = std::to_string(options.message_ports->last);
  env.try_emplace("FI_TCP_PORT_LOW_RANGE", first);
  env.try_emplace("FI_TCP_PORT_HIGH_RANGE", last);
  env.try_emplace("UCX_TCP_PORT_RANGE", first + "-" + last);
}

/// SM_* describe a rank's own host: they never get the leader's values.
Args kept_names(const CustomOptions& custom) {
  Args names;
  for (const auto& [name, value] : custom.exported)
    if (!name.starts_with("SM_") || value) names.push_back(name);
  if (custom.prefix)
    for (const char* name : {"PATH", "LD_LIBRARY_PATH"})
      if (!custom.exported.contains(name)) names.push_back(name);
  return names;
}

}  // namespace

void set_interfaces(Env& env, const Inputs& inputs, const Options& options,
                    const CustomOptions& custom) {
  if (!is_hydra(options.mpi)) return set_open_mpi_interfaces(env, inputs, options, custom);
  env.erase(hydra_interface);
  if (inputs.hosts.size() == 1) return;
  if (!custom.interface) env[hydra_interface] = inputs.interface;
  if (!has_efa(inputs.instance_type)) env.try_emplace("FI_TCP_IFACE", inputs.interface);
}

Result<HostPlan> plan_mpi(const Inputs& inputs, const Options& options) {
  const CustomOptions custom = TRY(parse_custom_options(inputs.custom_options, options.mpi));
  TRY(check_names(inputs));
  TRY(check_counts(inputs, custom));
  TRY(check_options(options));
  HostPlan result;
  result.launcher = Launcher::mpi;
  result.rank = TRY(program_command(inputs, options, "mpi4py"));
  const Env variables = fabric_variables(inputs, options, custom, result.rank.env);
  for (const auto& [name, value] : variables) result.rank.env[name] = value;
  const bool hydra = is_hydra(options.mpi);
  set_interfaces(result.rank.env, inputs, options, custom);
  if (hydra) add_ports(result.rank.env, options);
  result.kept_names = kept_names(custom);
  result.ranks_total = ranks_total(inputs);
  result.ranks_decide = hydra ? result.ranks_total : 0;
  result.ranks_here = ranks_here(inputs, custom.mapping.value_or(Mapping::by_slot));
  result.roll_call = inputs.hosts_in_roll_call > 1;
  if (inputs.host != inputs.hosts.front()) return result;
  Env env = launcher_environment(result.rank.env);
  if (hydra && options.daemon_ports)
    env["MPIEXEC_PORT_RANGE"] = std::to_string(options.daemon_ports->first) + ":" +
                                std::to_string(options.daemon_ports->last);
  if (!hydra) add_open_mpi_agent(env, options);
  const MpiLine line{inputs, options, custom, result.ranks_total, variables, env};
  Args words = hydra ? hydra_line(line) : open_mpi_line(line);
  result.launcher_command = Command{std::move(words), std::move(env), options.code_dir};
  return result;
}

}  // namespace muster::launch
