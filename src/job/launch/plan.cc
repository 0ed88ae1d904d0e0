#include "job/launch/plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "job/launch/launchers.h"
#include "job/launch/mpi_flavour.h"
#include "job/launch/mpi_log.h"
#include "job/launch/mpirun_options.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

using Names = std::vector<std::string>;

bool begins_with_any(const std::string& name, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

bool sets_refused_mca(const std::string& variable) {
  for (const std::string_view prefix : {"OMPI_MCA_", "PRTE_MCA_"})
    if (variable.starts_with(prefix))
      return why_mca_refused(std::string_view(variable).substr(prefix.size())) != nullptr;
  return false;
}

bool secret(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  constexpr std::array<std::string_view, 7> words = {
      "KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

constexpr const char* masked = "***";

/// The words with the values of secret `-x NAME=VALUE` and `-genv NAME VALUE` masked.
Args shown(Args words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (words[i - 1] == "-x" && equals != std::string::npos && secret(words[i].substr(0, equals)))
      words[i] = words[i].substr(0, equals + 1) + masked;
    if (i > 1 && words[i - 2] == "-genv" && secret(words[i - 1])) words[i] = masked;
  }
  return words;
}

Env shown(const Env& env) {
  Env result;
  for (const auto& [name, value] : env)
    if (!name.starts_with("SM_")) result[name] = secret(name) ? masked : value;
  return result;
}

std::size_t count_sm(const Env& env) {
  return static_cast<std::size_t>(std::count_if(
      env.begin(), env.end(), [](const auto& entry) { return entry.first.starts_with("SM_"); }));
}

const char* name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::mpi:
      return "mpi";
    case Launcher::direct:
      return "direct";
    case Launcher::process:
      break;
  }
  return "process";
}

/// How PMIx, Open MPI's wire between daemon and ranks, keeps what it knows of a job.
constexpr const char* pmix_store = "PMIX_MCA_gds";

/// What hwloc, by which daemons find a machine's processors, would look for besides: devices. Each
/// daemon does so twice, and ranks have from it what it found.
/// Source: hwloc 2.9's manual, "Environment Variables" and "Components and plugins".
constexpr std::pair<const char*, const char*> no_devices[] = {
    {"HWLOC_COMPONENTS", "-pci,-linuxio,-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero"},
    {"HWLOC_PLUGINS_PATH", "/var/empty"}};
/// A job that says something of these: of hwloc itself, or of libfabric, under which ranks choose
/// the device next to them.
constexpr std::string_view wants_devices[] = {"HWLOC_", "FI_PROVIDER"};

/// What `env` has that `base` has not, or has otherwise.
Env added(const Env& env, const Env& base) {
  Env result;
  for (const auto& [name, value] : env) {
    const Env::const_iterator before = base.find(name);
    if (before == base.end() || before->second != value) result.emplace(name, value);
  }
  return result;
}

/// The programs of a host that starts its share itself, with what the plan changes for each.
std::string programs_text(const HostPlan& plan) {
  std::string text;
  for (const HostProgram& program : plan.programs) {
    text += program.name +
            (program.decides ? "" : " (terminated once the programs that decide have exited)") +
            " runs: " + shell_quoted(shown(program.command.argv)) + "\n";
    for (const auto& [name, value] : shown(added(program.command.env, plan.rank.env)))
      text += "  " + name + "=" + shell_quoted({value}) + "\n";
    for (const auto& [name, value] : plan.rank.env)
      if (!program.command.env.contains(name)) text += "  without " + name + "\n";
  }
  if (plan.programs.empty()) text = "nothing runs on this host\n";
  return text + "in folder: " + plan.rank.cwd + "\n";
}

std::string headline(const HostPlan& plan) {
  std::string text = std::string("launcher: ") + name_of(plan.launcher);
  if (plan.launcher != Launcher::process)
    text += ", " + std::to_string(plan.ranks_here) + " of " + std::to_string(plan.ranks_total) +
            (plan.launcher == Launcher::mpi ? " ranks" : " programs") + " on this host";
  if (plan.ranks_near_gpus) text += ", each next to its GPU";
  return text + (plan.roll_call ? ", after the roll call of all hosts\n" : "\n");
}

}  // namespace

Result<HostPlan> plan(const Inputs& inputs, const Options& options) {
  const bool takes_part =
      std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host) != inputs.hosts.end();
  const LauncherRow& row = launcher_of(takes_part ? inputs.runner : Runner::process);
  HostPlan result = TRY(row.plan(inputs, options));
  // Not mpirun's: it and its daemons know hosts by their own names.
  result.roll_call = inputs.hosts_in_roll_call > 1;
  result.hosts = inputs.hosts;
  result.transport = options.transport;
  if (result.launcher == Launcher::mpi) result.log = mpi_log(inputs, result);
  return result;
}

Env launcher_environment(const Env& base) {
  static const Names launchers = {"PMIX_",  "PMI_",  "SLURM_",       "PBS_",
                                  "LSB_",   "LSF_",  "OMPI_COMM_",   "ORTE_HNP_",
                                  "HYDRA_", "HYDI_", "I_MPI_HYDRA_", "MPI_LOCAL"};
  Env env;
  for (const auto& [name, value] : base)
    if (!begins_with_any(name, launchers) && !sets_refused_mca(name)) env.emplace(name, value);
  // Hosts share no memory: what a daemon lays out there for its ranks costs more than it saves.
  const Env::const_iterator store = base.find(pmix_store);
  env.insert_or_assign(pmix_store, store == base.end() ? std::string("hash") : store->second);
  const Names users(std::begin(wants_devices), std::end(wants_devices));
  const bool left_alone = std::any_of(base.begin(), base.end(), [&](const auto& entry) {
    return begins_with_any(entry.first, users);
  });
  if (!left_alone) env.insert(std::begin(no_devices), std::end(no_devices));
  return env;
}

std::string launcher_name(const HostPlan& plan) {
  return plan.programs.empty() ? "mpirun" : plan.programs.front().name;
}

std::string plan_text(const HostPlan& plan) {
  std::string text = headline(plan);
  if (plan.launcher == Launcher::direct) return text + programs_text(plan);
  if (plan.launcher_command)
    text += "leader runs: " + shell_quoted(shown(plan.launcher_command->argv)) + "\n";
  text += plan.launcher == Launcher::mpi ? "each rank runs: " : "runs: ";
  text += shell_quoted(plan.rank.argv) + "\n";
  text += "in folder: " + plan.rank.cwd + "\n";
  if (!plan.kept_names.empty()) text += "from mpirun: " + join(plan.kept_names, " ") + "\n";
  text += "environment: " + std::to_string(count_sm(plan.rank.env)) +
          " SM_* variables (`sm env` lists them), and\n";
  for (const auto& [name, value] : shown(plan.rank.env))
    text += "  " + name + "=" + shell_quoted({value}) + "\n";
  return text;
}

}  // namespace muster::launch
