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

/// Where torch's Flight Recorder writes, below /opt/ml/output/data: a file for each rank whose
/// collective operation timed out.
inline constexpr const char* dumps_folder = "nccl";
/// True for hosts whose Flight Recorder writes there: those with GPUs, unless the image or the job
/// names another place.
bool records_flights(const job::HostSpec& spec);

}  // namespace muster::container
