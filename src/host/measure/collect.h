#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "job/preflight/facts.h"

namespace muster::preflight {

struct Collecting {
  Env env;                ///< Has the PATH and PYTHONPATH of the program.
  std::string folder;     ///< The folder of the job's files; if it is missing, its nearest existing
                          ///< parent counts.
  std::string interface;  ///< The interface to the other hosts.
  std::vector<std::string> names;  ///< The hosts to look up.
  int gpus = 0;                    ///< The number of GPUs; their models may be unknown.
  bool asks_driver = false;        ///< Also looks for the GPUs' health.
};

/// Collects facts about this machine; unknown facts stay empty. Starts no process except the
/// driver's tool and journalctl, for at most one second each. Blocks while it looks up names one by
/// one, and stops after one second in total.
HostFacts collect(const Collecting& asked);

/// Pure. The version in a virtual environment's pyvenv.cfg; empty if it has none.
std::string version_in_pyvenv(const std::string& text);
/// Pure. The driver's version in /proc/driver/nvidia/version.
std::string nvidia_version_in(const std::string& text);
/// Pure. Adds the packages of interest among the names of a site-packages folder; known ones are
/// not replaced.
void add_packages(const std::vector<std::string>& names,
                  std::map<std::string, std::string>& packages);

}  // namespace muster::preflight
