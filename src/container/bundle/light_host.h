#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "container/bundle/bundle.h"
#include "container/bundle/runtime.h"
#include "net/loop/wait.h"

namespace muster::container {

/// A host without a container (docs/decisions/0048-light-hosts.md): separate mounts, a separate
/// hostname and, if the machine allows it, separate processes; everything else is the machine's.
struct LightHost {
  std::string name;               ///< The hostname.
  std::vector<Bind> binds;        ///< Only `source`, `target` and `read_only` count.
  std::string tmp_folder;         ///< Becomes /tmp.
  std::vector<std::string> kept;  ///< Paths in /tmp that it sees nevertheless.
  Command command;                ///< The first process.
};

/// Gives the calling process its own mounts: as root with the machine's users, otherwise in a new
/// user namespace, and then returns true. Error: `denied`, with what the machine refuses.
Result<bool> enter_light_mounts();

/// Starts the first process of `host` from the mounts of the calling process, which is a child
/// subreaper: it becomes its child. `own_pids` is false afterwards where it has no process
/// namespace: what it leaves behind is then to be killed one by one (os/supervise/reaper.h).
/// Errors: of what cannot be shown, or started.
loop::Task<Result<Process>> start_light(loop::Loop& loop, LightHost host, ContainerStdio stdio,
                                        bool& own_pids);

}  // namespace muster::container
