#include <algorithm>
#include <array>

#include "base/text.h"
#include "launch/inputs.h"
#include "launch/mpirun_options.h"

namespace muster::launch {
namespace {

// Source of both lists: sagemaker-training 5.1.4, __init__.py.
constexpr std::array<std::string_view, 10> efa_instances = {
    "ml.g4dn.8xlarge",  "ml.g4dn.12xlarge",     "ml.g5.48xlarge", "ml.p3dn.24xlarge",
    "ml.p4d.24xlarge",  "ml.p4de.24xlarge",     "ml.p5.48xlarge", "ml.p5e.48xlarge",
    "ml.trn1.32xlarge", "ml.p6e-gb200.36xlarge"};
constexpr std::array<std::string_view, 6> efa_rdma_instances = {
    "ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge",
    "ml.p5e.48xlarge", "ml.trn1.32xlarge", "ml.p6e-gb200.36xlarge"};

constexpr int processes_max = 1 << 20;

template <std::size_t count>
bool among(const std::array<std::string_view, count>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

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
  if (slots < 1 || slots > processes_max)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_of_processes_per_host is " +
                                         std::to_string(slots) + ", want 1 or more");
  const int total = ranks_total(inputs);
  if (total < 1 || total > processes_max)
    return fail(Errc::invalid_input,
                "sagemaker_mpi_num_processes is " + std::to_string(total) + ", want 1 or more");
  const std::size_t all = inputs.hosts.size() * static_cast<std::size_t>(slots);
  if (static_cast<std::size_t>(total) > all && !custom.oversubscribes)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_processes is " + std::to_string(total) +
                                         ", but " + std::to_string(inputs.hosts.size()) +
                                         " hosts with " + std::to_string(slots) +
                                         " processes each hold " + std::to_string(all) +
                                         " (custom option -oversubscribe allows more)");
  return {};
}

Result<void> check_names(const Inputs& inputs) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (const std::string& host : inputs.hosts)
    if (host.empty() || host[0] == '-' || host.find_first_not_of(plain) != std::string::npos)
      return fail(Errc::invalid_input, "host \"" + to_utf8(host) + "\" is no host name");
  const std::string& interface = inputs.interface;
  if (interface.empty() || interface[0] == '-' ||
      interface.find_first_of(" \t\n\",") != std::string::npos)
    return fail(Errc::invalid_input,
                "network interface \"" + to_utf8(interface) + "\" is no interface name");
  return {};
}

Result<void> check_options(const Options& options) {
  if (options.agent.empty() || options.agent.find_first_of(" \t\n:\"'") != std::string::npos)
    return fail(Errc::invalid_input, "mpirun takes no agent of the name \"" + options.agent +
                                         "\": want a path without spaces, ':' and quotes");
  const auto port_range = [](const std::optional<PortRange>& range) {
    return !range || (range->first >= 1024 && range->last >= range->first);
  };
  if (!port_range(options.daemon_ports) || !port_range(options.message_ports))
    return fail(Errc::invalid_input, "a port range wants FIRST-LAST, both from 1024 to 65535");
  return {};
}

/// mpirun's line, built up in parts.
class Line {
 public:
  Line(const Inputs& inputs, const Options& options, const CustomOptions& custom)
      : inputs_(inputs), options_(options), custom_(custom) {}

  Args build(const Env& variables, const Env& launcher_env) {
    std::string hosts;
    for (const std::string& host : inputs_.hosts)
      hosts += (hosts.empty() ? "" : ",") + host + ":" + std::to_string(inputs_.processes_per_host);
    words_ = {"mpirun",
              "--host",
              hosts,
              "-np",
              std::to_string(ranks_total(inputs_)),
              "--allow-run-as-root"};
    add_infrastructure();
    add_defaults();
    for (const auto& [name, value] : variables)
      if (!custom_.exported.contains(name)) add({"-x", name + "=" + value});
    // mpirun warns of a variable that is not there.
    for (const char* name : {"PATH", "LD_LIBRARY_PATH"})
      if (launcher_env.contains(name) && !custom_.exported.contains(name)) add({"-x", name});
    if (custom_.verbose) add({"--display-map"});
    add(custom_.words);
    add({options_.sm, "rank"});
    return std::move(words_);
  }

 private:
  void add(const Args& words) { words_.insert(words_.end(), words.begin(), words.end()); }

  /// mpirun ends with an error if a parameter stands on its line twice, be it with one value.
  void add_mca(const std::string& name, const std::string& value) {
    if (!custom_.mca.contains(name)) add({"-mca", name, value});
  }

  /// What the job rests on; custom options cannot name these.
  void add_infrastructure() {
    add_mca("plm", "rsh");
    add_mca("plm_rsh_agent", options_.agent);
    add_mca("plm_rsh_no_tree_spawn", "1");
    add({"-mca", "orte_leave_session_attached", "1"});
    if (options_.daemon_ports)
      add_mca("oob_tcp_dynamic_ipv4_ports", std::to_string(options_.daemon_ports->first) + "-" +
                                                std::to_string(options_.daemon_ports->last));
    if (!options_.message_ports) return;
    const PortRange& ports = *options_.message_ports;
    add_mca("btl_tcp_port_min_v4", std::to_string(ports.first));
    add_mca("btl_tcp_port_range_v4", std::to_string(ports.last - ports.first + 1));
  }

  void add_defaults() {
    // A host alone needs no network, and may have none but its loopback.
    const std::string interface = inputs_.hosts.size() > 1 ? inputs_.interface : "lo";
    for (const std::string layer :
         {"btl", "oob"})  // if_include and if_exclude shut each other out.
      if (!custom_.mca.contains(layer + "_tcp_if_exclude"))
        add_mca(layer + "_tcp_if_include", interface);
    if (!custom_.binds) add({"-bind-to", "none"});
    if (!custom_.mapping) add({"-map-by", "slot"});
    add_mca("pml", "ob1");
    // The reference leaves btl/ofi in: without a fabric it costs 0.3 s at MPI_Init and 1 s at
    // MPI_Finalize of every rank (docs/decisions/0004-mpirun.md).
    const bool fabric = among(efa_instances, inputs_.instance_type);
    add_mca("btl", fabric ? "^openib" : "^openib,ofi");
    add_mca("orte_abort_on_non_zero_status", "1");
    add_mca("btl_vader_single_copy_mechanism", "none");
  }

  const Inputs& inputs_;
  const Options& options_;
  const CustomOptions& custom_;
  Args words_;
};

/// What the reference exports for NCCL and EFA. A value that the job's environment has stays.
Env fabric_variables(const Inputs& inputs, const CustomOptions& custom, const Env& env) {
  Env variables = {
      {"NCCL_MIN_NRINGS", "4"}, {"NCCL_SOCKET_IFNAME", inputs.interface}, {"NCCL_DEBUG", "INFO"}};
  if (among(efa_instances, inputs.instance_type)) {
    variables["FI_PROVIDER"] = "efa";
    variables["NCCL_PROTO"] = "simple";
  }
  if (among(efa_rdma_instances, inputs.instance_type)) variables["FI_EFA_USE_DEVICE_RDMA"] = "1";
  for (auto& [name, value] : variables)
    if (const Env::const_iterator at = env.find(name); at != env.end()) value = at->second;
  if (custom.nccl_debug) variables["NCCL_DEBUG"] = *custom.nccl_debug;
  return variables;
}

/// SM_* tell a rank of its own host: a leader's value never stands in for them.
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

Result<HostPlan> plan_mpi(const Inputs& inputs, const Options& options) {
  const CustomOptions custom = TRY(parse_custom_options(inputs.custom_options));
  TRY(check_names(inputs));
  TRY(check_counts(inputs, custom));
  TRY(check_options(options));
  HostPlan result;
  result.launcher = Launcher::mpi;
  result.rank = TRY(program_command(inputs, options, "mpi4py"));
  const Env variables = fabric_variables(inputs, custom, result.rank.env);
  for (const auto& [name, value] : variables) result.rank.env[name] = value;
  result.kept_names = kept_names(custom);
  result.ranks_total = ranks_total(inputs);
  result.ranks_here = ranks_here(inputs, custom.mapping.value_or(Mapping::by_slot));
  result.roll_call = inputs.hosts_of_job > 1;
  if (inputs.host != inputs.hosts.front()) return result;
  const Env env = launcher_environment(result.rank.env);
  result.launcher_command =
      Command{Line(inputs, options, custom).build(variables, env), env, options.code_dir};
  return result;
}

}  // namespace muster::launch
