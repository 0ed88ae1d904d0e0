#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"
#include "container/cipher.h"
#include "job/host_spec.h"

namespace muster::container {

// Hosts in a VPC, and those whose traffic is encrypted: each hangs on a cable of its own to the
// job's namespace, which routes between them. So a packet between two hosts passes the same rules
// as one to the outside, and no frame of one reaches another. (The kernel's bridges know no
// connections unless nf_conntrack_bridge is there, which many kernels have not.)

/// True if the job's hosts hang on a router, not on a bridge. Pure.
bool is_routed(const job::HostSpec& spec);

/// Where `spec.host` is: of a VPC, or of the job's own network of the machine. Pure.
job::PlacedAddress place_of(const job::HostSpec& spec);

/// The job's table as `nft -f` reads it. Rules go by the names of cables and gateway: they hold
/// before those are there. With a cipher nothing but its packets passes between hosts. Pure.
/// `spec`: any host's.
std::string segment_rules(const job::HostSpec& spec, std::optional<Cipher> cipher);

/// A table for a host's own namespace: what groups of a VPC let in, of what comes out of the
/// tunnel, where the router cannot look. Pure.
std::string tunnel_rules(const job::HostSpec& spec);

/// Makes the calling thread's namespace a router that hands on what the rules let pass. Error:
/// `not_found` without nft, `system`: nothing is handed on then.
Result<void> make_router(const job::HostSpec& spec, std::optional<Cipher> cipher, const Env& env);

/// In the router's namespace: the cable's end, and where the host's address is.
Result<void> connect_to_router(int socket, const job::HostSpec& spec);

/// In the host's: its address, and everything by the router. `outside`: the rest of the world, too.
Result<void> connect_host(int socket, const job::HostSpec& spec, bool outside);

}  // namespace muster::container
