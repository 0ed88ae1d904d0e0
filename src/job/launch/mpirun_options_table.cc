#include "job/launch/mpirun_options_table.h"

#include <array>
#include <set>
#include <span>

namespace muster::launch {
namespace {

using Option = MpirunOption;
using Kind = MpirunOption::Kind;
using Table = std::span<const Option>;

constexpr const char* waits_for_debugger = "ranks would wait for a debugger";

// Sources: orte/mca/schizo/ompi/schizo_ompi.c of Open MPI 4.1.4 and
// opal/mca/base/mca_base_cmd_line.c; src/mca/schizo/ompi/schizo_ompi.c of PRRTE's branch v3.0,
// which is Open MPI 5's. Short letters are names of their own.
constexpr std::array open_mpi = {
    Option{"allow-run-as-root", 0, Kind::set_already},
    Option{"am", 1},
    Option{"app", 1, Kind::refused, wraps_ranks},
    Option{"bind-to", 1, Kind::binds},
    Option{"bind-to-core", 0, Kind::binds},
    Option{"bycore", 0, Kind::maps},
    Option{"bynode", 0, Kind::by_node},
    Option{"byslot", 0, Kind::set_already},
    Option{"c", 1, Kind::refused, count_is_ours},
    Option{"np", 1, Kind::refused, count_is_ours},
    Option{"n", 1, Kind::refused, count_is_ours},
    Option{"continuous", 0},
    Option{"cpu-list", 1},
    Option{"cpu-set", 1},
    Option{"cpus-per-proc", 1, Kind::maps},
    Option{"cpus-per-rank", 1, Kind::maps},
    Option{"debug", 0, Kind::refused, wraps_ranks},
    Option{"debug-daemons", 0},
    Option{"debug-daemons-file", 0},
    Option{"default-hostfile", 1, Kind::refused, hosts_are_ours},
    Option{"disable-recovery", 0},
    Option{"display-allocation", 0},
    Option{"display-devel-map", 0},
    Option{"display-map", 0},
    Option{"do-not-launch", 0, Kind::refused, starts_nothing},
    Option{"dvm", 0, Kind::refused, daemons_are_ours},
    Option{"enable-recovery", 0},
    Option{"get-stack-traces", 0},
    Option{"gmca", 2, Kind::mca},
    Option{"h", 0, Kind::refused, starts_nothing},
    Option{"help", 0, Kind::refused, starts_nothing},
    Option{"H", 1, Kind::refused, hosts_are_ours},
    Option{"host", 1, Kind::refused, hosts_are_ours},
    Option{"hostfile", 1, Kind::refused, hosts_are_ours},
    Option{"launch-agent", 1, Kind::refused, daemons_are_ours},
    Option{"leave-session-attached", 0, Kind::set_already},
    Option{"machinefile", 1, Kind::refused, hosts_are_ours},
    Option{"map-by", 1, Kind::maps},
    Option{"max-restarts", 1},
    Option{"max-vm-size", 1, Kind::refused, hosts_are_ours},
    Option{"mca", 2, Kind::mca},
    Option{"merge-stderr-to-stdout", 0},
    Option{"N", 1, Kind::by_node},
    Option{"nolocal", 0, Kind::refused, hosts_are_ours},
    Option{"nooversubscribe", 0},
    Option{"noprefix", 0},
    Option{"npernode", 1, Kind::by_node},
    Option{"npersocket", 1, Kind::maps},
    Option{"output-filename", 1},
    Option{"output-proctable", 0},
    Option{"oversubscribe", 0, Kind::oversubscribes},
    Option{"path", 1},
    Option{"pernode", 0, Kind::by_node},
    Option{"personality", 1},
    Option{"ppr", 1, Kind::maps},
    Option{"prefix", 1, Kind::prefix},
    Option{"preload-binary", 0, Kind::refused, wraps_ranks},
    Option{"preload-files", 1},
    Option{"rank-by", 1},
    Option{"rankfile", 1, Kind::maps},
    Option{"report-bindings", 0},
    Option{"report-child-jobs-separately", 0},
    Option{"report-pid", 1},
    Option{"report-state-on-timeout", 0},
    Option{"report-uri", 1},
    Option{"s", 0, Kind::refused, wraps_ranks},
    Option{"show-progress", 0},
    Option{"stdin", 1},
    Option{"tag-output", 0},
    Option{"timeout", 1},
    Option{"timestamp-output", 0},
    Option{"tune", 1},
    Option{"use-hwthread-cpus", 0},
    Option{"V", 0, Kind::refused, starts_nothing},
    Option{"v", 0, Kind::verbose},
    Option{"verbose", 0, Kind::verbose},
    Option{"version", 0, Kind::refused, starts_nothing},
    Option{"wd", 1, Kind::refused, folder_is_ours},
    Option{"wdir", 1, Kind::refused, folder_is_ours},
    Option{"x", 1, Kind::exports},
    Option{"xml", 0},
    Option{"xterm", 1, Kind::refused, wraps_ranks},
};

constexpr std::array open_mpi_4_only = {
    Option{"bind-to-socket", 0, Kind::binds},
    Option{"cf", 1},
    Option{"cartofile", 1},
    Option{"d", 0},
    Option{"debug-devel", 0},
    Option{"debugger", 1, Kind::refused, wraps_ranks},
    Option{"display-devel-allocation", 0},
    Option{"display-diffable-map", 0},
    Option{"display-topo", 0},
    Option{"do-not-resolve", 0},
    Option{"enable-instant-on-support", 0},
    Option{"fwd-mpirun-port", 0},
    Option{"hnp", 1, Kind::refused, daemons_are_ours},
    Option{"index-argv-by-rank", 0, Kind::refused, wraps_ranks},
    Option{"novm", 0},
    Option{"ompi-server", 1},
    Option{"q", 0},
    Option{"quiet", 0},
    Option{"report-events", 1},
    Option{"rf", 1, Kind::maps},
    Option{"set-cwd-to-session-dir", 0, Kind::refused, folder_is_ours},
    Option{"tv", 0, Kind::refused, wraps_ranks},
    Option{"use-regexp", 0},
    Option{"xml-file", 1},
};

constexpr std::array open_mpi_5_only = {
    Option{"amca", 1},
    Option{"app-prefix", 1, Kind::prefix},
    Option{"arch", 1},
    Option{"display", 1},
    Option{"display-comm", 0},
    Option{"display-comm-finalize", 0},
    Option{"display-topo", 1},
    Option{"file", 1},
    Option{"forward-signals", 1},
    Option{"fwd-environment", 0, Kind::refused, variables_are_hosts},
    Option{"gomca", 2, Kind::mca},
    Option{"gpu-support", 1},
    Option{"hetero-nodes", 0},
    Option{"initial-errhandler", 1},
    Option{"memory-alloc-kinds", 1},
    Option{"no-aggregate-help", 0},
    Option{"no-app-prefix", 0},
    Option{"omca", 2, Kind::mca},
    Option{"output", 1},
    Option{"output-directory", 1},
    Option{"p", 0},
    Option{"parsable", 0},
    Option{"parseable", 0},
    Option{"pmixmca", 2, Kind::mca},
    Option{"prtemca", 2, Kind::mca},
    Option{"pset", 1},
    Option{"rtos", 1},
    Option{"soft", 0},
    Option{"spawn-timeout", 1},
    Option{"stop-in-app", 0, Kind::refused, waits_for_debugger},
    Option{"stop-in-init", 0, Kind::refused, waits_for_debugger},
    Option{"stop-on-exec", 0, Kind::refused, waits_for_debugger},
    Option{"stream-buffering", 1},
    Option{"tmpdir", 1},
    Option{"with-ft", 1},
};

// Sources: `mpiexec -help` of MPICH 5.0.2 and of Intel MPI 2021.13, src/pm/hydra/mpiexec/options.c
// of MPICH, and the Developer Reference of Intel MPI. Here -x and -oversubscribe are muster's own,
// so that options of Open MPI's form mean the same.
constexpr std::array hydra = {
    Option{"bind-to", 1, Kind::binds},
    Option{"bootstrap", 1, Kind::refused, daemons_are_ours},
    Option{"bootstrap-exec", 1, Kind::refused, daemons_are_ours},
    Option{"bootstrap-exec-args", 1, Kind::refused, daemons_are_ours},
    Option{"configfile", 1, Kind::refused, wraps_ranks},
    Option{"demux", 1},
    Option{"disable-auto-cleanup", 0, Kind::set_already},
    Option{"disable-hostname-propagation", 0},
    Option{"disable-x", 0, Kind::refused, daemons_are_ours},
    Option{"enable-auto-cleanup", 0, Kind::refused, daemons_are_ours},
    Option{"enable-hostname-propagation", 0},
    Option{"enable-x", 0, Kind::refused, daemons_are_ours},
    Option{"env", 2, Kind::export_value},
    Option{"envall", 0, Kind::refused, variables_are_hosts},
    Option{"envlist", 1, Kind::export_names},
    Option{"envnone", 0, Kind::set_already},
    Option{"errfile-pattern", 1},
    Option{"f", 1, Kind::refused, hosts_are_ours},
    Option{"genv", 2, Kind::export_value},
    Option{"genvall", 0, Kind::refused, variables_are_hosts},
    Option{"genvlist", 1, Kind::export_names},
    Option{"genvnone", 0, Kind::set_already},
    Option{"h", 0, Kind::refused, starts_nothing},
    Option{"help", 0, Kind::refused, starts_nothing},
    Option{"host", 1, Kind::refused, hosts_are_ours},
    Option{"hostfile", 1, Kind::refused, hosts_are_ours},
    Option{"hostlist", 1, Kind::refused, hosts_are_ours},
    Option{"hosts", 1, Kind::refused, hosts_are_ours},
    Option{"iface", 1, Kind::interface},
    Option{"info", 0, Kind::refused, starts_nothing},
    Option{"l", 0},
    Option{"launcher", 1, Kind::refused, daemons_are_ours},
    Option{"launcher-exec", 1, Kind::refused, daemons_are_ours},
    Option{"localhost", 1, Kind::refused, hosts_are_ours},
    Option{"machine", 1, Kind::refused, hosts_are_ours},
    Option{"machinefile", 1, Kind::refused, hosts_are_ours},
    Option{"map-by", 1},
    Option{"membind", 1},
    Option{"n", 1, Kind::refused, count_is_ours},
    Option{"nameserver", 1},
    Option{"nolocal", 0, Kind::refused, hosts_are_ours},
    Option{"np", 1, Kind::refused, count_is_ours},
    Option{"outfile-pattern", 1},
    Option{"oversubscribe", 0, Kind::oversubscribes},
    Option{"path", 1},
    Option{"ppn", 1, Kind::maps},
    Option{"prepend-pattern", 1},
    Option{"prepend-rank", 0},
    Option{"print-all-exitcodes", 0},
    Option{"profile", 0},
    Option{"rmk", 1, Kind::refused, hosts_are_ours},
    Option{"topolib", 1},
    Option{"usize", 1},
    Option{"v", 0, Kind::verbose},
    Option{"verbose", 0, Kind::verbose},
    Option{"version", 0, Kind::refused, starts_nothing},
    Option{"wd", 1, Kind::refused, folder_is_ours},
    Option{"wdir", 1, Kind::refused, folder_is_ours},
    Option{"x", 1, Kind::exports},
};

constexpr std::array mpich_only = {
    Option{"gpu-subdevs-per-proc", 1},
    Option{"gpus-per-proc", 1},
    Option{"hybrid-hosts", 0},
    Option{"memory-alloc-kinds", 1},
    Option{"order-nodes", 1, Kind::refused, hosts_are_ours},
    Option{"pmi-args", 4, Kind::refused, daemons_are_ours},
    Option{"pmi-port", 0},
    Option{"rankmap", 1, Kind::maps},
    Option{"skip-launch-node", 0, Kind::refused, hosts_are_ours},
};

constexpr std::array intel_only = {
    Option{"aps", 0, Kind::refused, wraps_ranks},
    Option{"branch-count", 1, Kind::refused, daemons_are_ours},
    Option{"check_mpi", 0},
    Option{"gdb", 0, Kind::refused, wraps_ranks},
    Option{"gdb-args", 1, Kind::refused, wraps_ranks},
    Option{"gdba", 1, Kind::refused, wraps_ranks},
    Option{"ghost", 1, Kind::refused, hosts_are_ours},
    Option{"gn", 1, Kind::refused, count_is_ours},
    Option{"gnp", 1, Kind::refused, count_is_ours},
    Option{"grr", 1, Kind::maps},
    Option{"gtool", 1, Kind::refused, wraps_ranks},
    Option{"gtoolfile", 1, Kind::refused, wraps_ranks},
    Option{"gwdir", 1, Kind::refused, folder_is_ours},
    Option{"hosts-group", 1, Kind::refused, hosts_are_ours},
    Option{"ilp64", 0},
    Option{"mps", 0, Kind::refused, wraps_ranks},
    Option{"ordered-output", 0},
    Option{"perhost", 1, Kind::maps},
    Option{"prepend-timestamp", 0},
    Option{"print-rank-map", 0},
    Option{"prot", 0},
    Option{"rr", 0, Kind::maps},
    Option{"s", 1},
    Option{"silent-abort", 0},
    Option{"tmpdir", 1},
    Option{"tune", 1},
    Option{"tv", 0, Kind::refused, wraps_ranks},
};

const Option* find_in(Table options, std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

struct Tables {
  Table common, own;
};

Tables tables_of(const MpiFlavour& flavour) {
  if (flavour.kind == MpiFlavour::Kind::mpich) return {hydra, mpich_only};
  if (flavour.kind == MpiFlavour::Kind::intel_mpi) return {hydra, intel_only};
  return {open_mpi, flavour.major >= 5 ? Table(open_mpi_5_only) : Table(open_mpi_4_only)};
}

/// The names of those options, refused or not, in lines.
std::string names_in(const Tables& tables, bool refused) {
  constexpr std::size_t columns = 100;
  std::set<std::string_view> names;
  for (const Table& table : {tables.common, tables.own})
    for (const Option& option : table)
      if ((option.kind == Kind::refused) == refused) names.insert(option.name);
  std::string text;
  std::string line = " ";
  for (const std::string_view name : names) {
    if (line.size() + name.size() + 3 > columns) {
      text += line + "\n";
      line = " ";
    }
    line += " -" + std::string(name);
  }
  return text + line + "\n";
}

}  // namespace

const Option* find_mpirun_option(const MpiFlavour& flavour, std::string_view name) {
  const Tables tables = tables_of(flavour);
  const Option* found = find_in(tables.own, name);
  return found != nullptr ? found : find_in(tables.common, name);
}

std::string mpirun_options_help(const MpiFlavour& flavour) {
  const Tables tables = tables_of(flavour);
  return "accepted:\n" + names_in(tables, false) + "rejected:\n" + names_in(tables, true);
}

}  // namespace muster::launch
