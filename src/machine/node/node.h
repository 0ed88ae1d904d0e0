#pragma once

#include "base/command.h"

namespace muster::node {

/// `sm node --job FILE [--steward PROGRAM]`: one host of a job on a cluster's node. Protocol:
/// docs/protocols/node-link.md. Exit code: 0 after any end of the job; 1 if FILE could not be read,
/// or the environment does not identify the host; 2 for wrong arguments.
int node_main(const Args& args, const Env& env);

}  // namespace muster::node
