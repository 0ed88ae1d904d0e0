#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "job/preflight/facts.h"

namespace muster::preflight {

struct Collecting {
  Env env;                         ///< Has the PATH and PYTHONPATH of the program.
  std::string folder;              ///< Where the job's files are; the nearest that exists counts.
  std::string interface;           ///< The one that leads to the others.
  std::vector<std::string> names;  ///< The hosts to look up.
  int gpus = 0;                    ///< As many as were counted; their models may be unknown.
};

/// What this machine is like; what can't be found out stays empty. Starts no process. Blocks while
/// names are looked up, one after another: no further one once that has taken a second.
HostFacts collect(const Collecting& asked);

/// Pure. The version in a virtual environment's pyvenv.cfg; empty if it has none.
std::string version_in_pyvenv(const std::string& text);
/// Pure. The driver's version in /proc/driver/nvidia/version.
std::string nvidia_version_in(const std::string& text);
/// Pure. Adds the packages of interest among the names of a site-packages folder; those that are
/// known stay.
void add_packages(const std::vector<std::string>& names,
                  std::map<std::string, std::string>& packages);

}  // namespace muster::preflight
