#pragma once

#include <string>

#include "base/command.h"
#include "job/host_spec.h"

// Pure: variables by which NCCL and gloo, the libraries of collective operations, find their way in
// a host.

namespace muster::container {

/// Adds them to `env`; variables that are in it, or that the job sets, stay. `interface`: the one
/// to the other hosts.
void set_collectives(const job::HostSpec& spec, const std::string& interface, Env& env);

}  // namespace muster::container
