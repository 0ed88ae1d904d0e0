#pragma once

#include <string>

#include "base/command.h"
#include "job/host_spec.h"

// Pure: variables for NCCL and gloo, the libraries for collective operations, in a host.

namespace muster::container {

/// Adds the variables to `env`, except those that `env` or the job already sets. `interface`: the
/// interface to the other hosts.
void set_collectives(const job::HostSpec& spec, const std::string& interface, Env& env);

/// The folder of torch's Flight Recorder below /opt/ml/output/data, with a file for each rank whose
/// collective operation timed out.
inline constexpr const char* dumps_folder = "nccl";
/// True for hosts whose Flight Recorder uses this folder: hosts with GPUs, unless the image or the
/// job sets another one.
bool records_flights(const job::HostSpec& spec);

}  // namespace muster::container
