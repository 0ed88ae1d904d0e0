#pragma once

#include <string>

#include "base/process/cpus.h"
#include "job/host_spec.h"
#include "os/devices/numa.h"

namespace muster::steward {

/// Where the host is next to its GPUs, by the job's wish (MUSTER_NUMA, docs/users/gpus.md#numa).
/// `allowed`: the steward's own processors, of which a host has no more. Pure.
job::NearGpus near_gpus(const job::HostSpec& spec, const devices::NumaMachine& machine,
                        const Cpus& allowed);

/// As near_gpus(), on this machine. Cards that a light host cannot open do not count, because
/// schedulers number the others.
job::NearGpus find_near_gpus(const job::HostSpec& spec);

/// True if a host with the reserved processors `cpus` ("": none are reserved for it) is next to its
/// GPUs. Pure.
bool is_near(const job::NearGpus& near, const std::string& cpus);

/// The line of the host's log; empty: there is nothing to say. Pure.
std::string near_note(const job::NearGpus& near, const std::string& cpus);

}  // namespace muster::steward
