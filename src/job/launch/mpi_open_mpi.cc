#include "job/launch/efa.h"
#include "job/launch/mpi_line.h"

namespace muster::launch {
namespace {

constexpr int first_prrte = 5;  ///< From here on its daemons are PRRTE's.
constexpr const char* prrte_interface = "PRTE_MCA_prte_if_include";

struct InterfaceVariable {
  std::string variable;
  std::string parameter;  ///< The name in MCA, without "include" or "exclude".
  bool is_daemons = false;
};

std::vector<InterfaceVariable> interface_variables(const Options& options) {
  std::vector<InterfaceVariable> all = {{"OMPI_MCA_btl_tcp_if_include", "btl_tcp_if_", false},
                                        {"OMPI_MCA_oob_tcp_if_include", "oob_tcp_if_", true}};
  if (options.mpi.major >= first_prrte) all.back() = {prrte_interface, "prte_if_", true};
  return all;
}

/// By an option, exported by -x, or by a variable of the job.
bool user_chose(const std::string& parameter, const Env& env, const CustomOptions& custom) {
  const auto said = [&](const std::string& name) {
    return custom.mca.contains(name) || custom.exported.contains("OMPI_MCA_" + name);
  };
  // if_include and if_exclude shut each other out.
  return said(parameter + "include") || said(parameter + "exclude") ||
         env.contains("OMPI_MCA_" + parameter + "exclude") ||
         env.contains("PRTE_MCA_" + parameter + "exclude");
}

class OpenMpiLine {
 public:
  explicit OpenMpiLine(const MpiLine& line)
      : line_(line), prrte_(line.options.mpi.major >= first_prrte) {}

  Args build() {
    const Inputs& inputs = line_.inputs;
    const CustomOptions& custom = line_.custom;
    std::string hosts;
    for (const std::string& host : inputs.hosts)
      hosts += (hosts.empty() ? "" : ",") + host + ":" + std::to_string(inputs.processes_per_host);
    words_ = {"mpirun", "--host", hosts, "-np", std::to_string(line_.ranks_total)};
    if (prrte_) words_[3] = "--np";
    add({"--allow-run-as-root"});
    add_launch();
    if (line_.options.daemon_ports) {
      const PortRange& ports = *line_.options.daemon_ports;
      add_daemon_mca("oob_tcp_dynamic_ipv4_ports",
                     std::to_string(ports.first) + "-" + std::to_string(ports.last));
    }
    if (line_.options.message_ports) {
      const PortRange& ports = *line_.options.message_ports;
      add_mca("btl_tcp_port_min_v4", std::to_string(ports.first));
      add_mca("btl_tcp_port_range_v4", std::to_string(ports.last - ports.first + 1));
    }
    add_defaults();
    for (const auto& [name, value] : line_.variables)
      if (!custom.exported.contains(name)) add({"-x", name + "=" + value});
    // mpirun warns of a variable that is not there.
    for (const char* name : {"PATH", "LD_LIBRARY_PATH"})
      if (line_.launcher_env.contains(name) && !custom.exported.contains(name)) add({"-x", name});
    if (custom.verbose || line_.options.display_map) {
      if (prrte_)
        add({"--display", "map"});
      else
        add({"--display-map"});
    }
    add(custom.words);
    add({line_.options.sm, "rank"});
    return std::move(words_);
  }

 private:
  void add(const Args& words) { words_.insert(words_.end(), words.begin(), words.end()); }

  /// mpirun ends with an error if a parameter occurs twice on its line, even with the same value.
  void add_mca(const std::string& name, const std::string& value) {
    if (!line_.custom.mca.contains(name)) add({prrte_ ? "--mca" : "-mca", name, value});
  }
  /// One that the daemons read.
  void add_daemon_mca(const std::string& name, const std::string& value) {
    if (!line_.custom.mca.contains(name)) add({prrte_ ? "--prtemca" : "-mca", name, value});
  }

  /// What the job rests on; custom options cannot name these.
  void add_launch() {
    const std::string shell = prrte_ ? "ssh" : "rsh";
    add_daemon_mca("plm", shell);
    if (!prrte_) add_daemon_mca("plm_rsh_agent", line_.options.agent);
    add_daemon_mca("plm_" + shell + "_no_tree_spawn", "1");
    // mpirun would put its own variables on the command line of every daemon, the leader's
    // interfaces among them. Over ssh, each host's sshd sets its own: ssh_session_variables().
    if (!prrte_ && line_.options.transport == Transport::ssh)
      add_daemon_mca("plm_rsh_pass_environ_mca_params", "0");
    // Open MPI starts 128 agents at a time. Ours stay, so with more hosts it waited for ever.
    if (line_.inputs.hosts.size() > 128)
      add_daemon_mca("plm_" + shell + "_num_concurrent", std::to_string(line_.inputs.hosts.size()));
    if (prrte_)
      add({"--leave-session-attached"});
    else
      add({"-mca", "orte_leave_session_attached", "1"});
  }

  /// The leader's interfaces. A member's `train` puts its own in their place; sshd cannot, so over
  /// ssh mpirun and its daemons have them in their environments only.
  void add_interfaces() {
    if (line_.options.transport == Transport::ssh) return;
    for (const InterfaceVariable& each : interface_variables(line_.options)) {
      const Env::const_iterator set = line_.launcher_env.find(each.variable);
      if (set == line_.launcher_env.end()) continue;
      if (each.is_daemons)
        add_daemon_mca(each.parameter + "include", set->second);
      else
        add_mca(each.parameter + "include", set->second);
    }
  }

  void add_defaults() {
    add_interfaces();
    if (!line_.custom.binds) add({prrte_ ? "--bind-to" : "-bind-to", "none"});
    if (!line_.custom.mapping) add({prrte_ ? "--map-by" : "-map-by", "slot"});
    add_mca("pml", "ob1");
    // The reference leaves btl/ofi in: without a fabric it costs 0.3 s at MPI_Init and 1 s at
    // MPI_Finalize of every rank (docs/decisions/0004-mpirun.md).
    const bool fabric = has_efa(line_.inputs.instance_type);
    if (prrte_) {
      if (!fabric) add_mca("btl", "^ofi");
      add_mca("smsc", "^cma");  // As single_copy_mechanism none for Open MPI 4.
      return;
    }
    add_mca("btl", fabric ? "^openib" : "^openib,ofi");
    add_mca("orte_abort_on_non_zero_status", "1");
    add_mca("btl_vader_single_copy_mechanism", "none");
  }

  const MpiLine& line_;
  const bool prrte_;
  Args words_;
};

}  // namespace

void set_open_mpi_interfaces(Env& env, const Inputs& inputs, const Options& options,
                             const CustomOptions& custom) {
  // A host alone needs no network, and may have none but its loopback.
  const bool alone = inputs.hosts.size() == 1;
  const bool prrte = options.mpi.major >= first_prrte;
  for (const InterfaceVariable& each : interface_variables(options)) {
    const bool old_name = prrte && each.is_daemons && user_chose("oob_tcp_if_", env, custom);
    // PRRTE takes no loopback, and without an interface needs none for itself.
    if (old_name || (prrte && each.is_daemons && alone)) continue;
    if (user_chose(each.parameter, env, custom))
      env.erase(each.variable);
    else
      env.try_emplace(each.variable, alone ? "lo" : inputs.interface);
  }
}

Args open_mpi_line(const MpiLine& line) {
  return OpenMpiLine(line).build();
}

void add_open_mpi_agent(Env& env, const Options& options) {
  if (options.mpi.major < first_prrte) return;
  env["PRTE_MCA_plm_ssh_agent"] = options.agent;
  if (options.transport == Transport::ssh && !options.env.contains(prrte_interface))
    env.erase(prrte_interface);
}

}  // namespace muster::launch
