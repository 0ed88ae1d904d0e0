#pragma once

#include <string>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"
#include "job/host_spec.h"

namespace muster::container {

// Hosts in a VPC (job::Spec::vpc): each hangs on a cable of its own to the job's namespace, which
// routes between them. So a packet between two hosts passes the same rules as one to the outside,
// and no frame of one reaches another. (The kernel's bridges know no connections unless
// nf_conntrack_bridge is there, which many kernels have not.)

/// The job's table as `nft -f` reads it. Rules go by the names of cables and gateway: they hold
/// before those are there. Pure. `spec`: any host's.
std::string segment_rules(const job::HostSpec& spec);

/// Makes the calling thread's namespace a router that hands on what the rules let pass. Error:
/// `not_found` without nft, `system`: nothing is handed on then.
Result<void> make_router(const job::HostSpec& spec, const Env& env);

/// In the router's namespace: the cable's end, and where the host's address is.
Result<void> connect_to_router(int socket, const job::HostSpec& spec);

/// In the host's: its address, and everything by the router. `outside`: the rest of the world, too.
Result<void> connect_host(int socket, const job::HostSpec& spec, bool outside);

}  // namespace muster::container
