#include "base/text.h"
#include "job/launch/mpi_line.h"

namespace muster::launch {
namespace {

/// What starts the daemons. Intel's hydra knows the older names of these options in all versions.
Args launch_words(const Options& options, std::size_t hosts) {
  const bool intel = options.mpi.kind == MpiFlavour::Kind::intel_mpi;
  Args words = {intel ? "-bootstrap" : "-launcher", "ssh",
                intel ? "-bootstrap-exec" : "-launcher-exec", options.agent};
  if (!intel) return words;
  // Beyond so many hosts its daemons would call the agent themselves, on members.
  words.push_back("-branch-count");
  words.push_back(std::to_string(hosts));
  return words;
}

}  // namespace

Args hydra_line(const MpiLine& line) {
  const Inputs& inputs = line.inputs;
  const CustomOptions& custom = line.custom;
  Args words = {"mpirun", "-hosts"};
  const auto add = [&words](const Args& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  const bool intel = line.options.mpi.kind == MpiFlavour::Kind::intel_mpi;
  const std::string slots = std::to_string(inputs.processes_per_host);
  std::string hosts;
  for (const std::string& host : inputs.hosts)
    hosts += (hosts.empty() ? "" : ",") + host + (intel ? "" : ":" + slots);
  add({hosts, "-n", std::to_string(line.ranks_total)});
  // Intel's takes no number from the list, and would fill each host's cores.
  if (intel && !custom.mapping) add({"-ppn", slots});
  add(launch_words(line.options, inputs.hosts.size()));
  // At MPI_Abort its daemons would kill all ranks at once, the one that failed among them: its exit
  // code would be lost. Every host's `train` ends its ranks itself.
  add({"-disable-auto-cleanup"});
  // A host alone needs no network, and may have none but its loopback.
  if (!custom.interface && inputs.hosts.size() > 1) add({"-iface", inputs.interface});
  // By default hydra gives ranks all of the leader's variables. Each has its own host's.
  Args names;
  for (const auto& [name, value] : custom.exported) {
    if (value)
      add({"-genv", name, *value});
    else
      names.push_back(name);
  }
  if (names.empty())
    add({"-genvnone"});
  else
    add({"-genvlist", join(names, ",")});
  add(custom.words);
  add({line.options.sm, "rank"});
  return words;
}

}  // namespace muster::launch
