#pragma once

#include <string>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"
#include "job/host_spec.h"

namespace muster::container {

// Hosts in a VPC (job::Spec::vpc): each host has its own veth pair to the job's namespace, which
// routes between them. A packet between two hosts therefore passes the same rules as a packet to
// the outside, and no host receives another host's frames. (A bridge could filter by connection
// only with nf_conntrack_bridge, which many kernels lack.)

/// The job's nftables table, in the format of `nft -f`. The rules match interfaces by their names,
/// so they apply as soon as the interfaces exist. Pure. `spec`: the specification of any host.
std::string segment_rules(const job::HostSpec& spec);

/// Makes the calling thread's namespace a router that forwards what the rules allow. Errors:
/// `not_found` without nft; `system`. After an error, nothing is forwarded.
Result<void> make_router(const job::HostSpec& spec, const Env& env);

/// Configures the router's end of a host's veth pair, and the route to the host's address.
Result<void> connect_to_router(int socket, const job::HostSpec& spec);

/// Configures the host's end: its address, and routes through the router. `outside`: also adds a
/// default route.
Result<void> connect_host(int socket, const job::HostSpec& spec, bool outside);

}  // namespace muster::container
