#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "cli/values.h"
#include "command/line.h"

namespace muster::cli {

// How the processes of a job's hosts are started and connected, from the options of `sm fit` and
// `sm submit`. The flags of launchers come from the table in job/launch/launchers.h. Pure.

/// The flags as they are typed.
struct LaunchWords {
  std::string processes_per_host, custom_mpi_options;
  std::map<std::string, bool> launchers;  ///< "--torchrun": whether it is given.

  bool any() const;
};
/// Says where the flags' values go.
void bind(command::Line& line, LaunchWords& words);

struct LaunchChoice {
  bool mpi = false;            ///< Asked for, or needed for more than one process.
  std::string hyperparameter;  ///< What asks for the launcher; empty: each host runs the script.
  std::optional<int> processes_per_host;
  std::string custom_mpi_options;

  /// How many ranks identify themselves in a job of this many hosts.
  int ranks(int hosts) const { return mpi ? hosts * processes_per_host.value_or(1) : 1; }
};
/// Error: `invalid_input`, naming the flag: values out of range, two launchers, a flag that the
/// launcher has no use for.
Result<LaunchChoice> launch_choice(const LaunchWords& words, int hosts);

/// The hyperparameters that say so, by name, with their values as JSON.
std::map<std::string, Json> parameters_of(const LaunchChoice& choice);

/// What to know before the job of a script starts whose hosts would each run it for itself; empty
/// if they would not, and for a script that is not Python's: it calls launchers itself.
/// `hyperparameters` and `environment` as they were given: a launcher may be asked for there, too.
std::string apart_note(const std::string& script, const LaunchChoice& choice, int hosts,
                       const Pairs& hyperparameters, const Pairs& environment);

}  // namespace muster::cli
