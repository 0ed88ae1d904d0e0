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
  std::vector<std::string> kept;  ///< Paths in the machine's /tmp that the host sees nevertheless.
  Command command;                ///< The first process.
};

/// Moves the calling process to its own mount namespace. Without root, this requires a new user
/// namespace; the function then returns true. Error: `denied`, with the operation that the machine
/// does not allow.
Result<bool> enter_light_mounts();

/// Starts the first process of `host` from the mounts of the calling process, which is a child
/// subreaper and becomes its parent. Sets `own_pids` to false if the host has no process namespace;
/// the caller must then kill the remaining processes one by one (os/supervise/reaper.h). Errors: a
/// file that cannot be mounted, or a program that cannot be started.
loop::Task<Result<Process>> start_light(loop::Loop& loop, LightHost host, ContainerStdio stdio,
                                        bool& own_pids);

}  // namespace muster::container
