#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"

namespace muster::container {

/// The outside connection of jobs without root, which cannot change the machine's network:
/// slirp4netns(1), a process that opens each connection again as the user.

/// The rules, in the format of `nft -f`, of the namespace with the job's bridge and slirp4netns'
/// interface: they block the machine itself, at `machine_addresses` (IPv4), and clouds' metadata
/// services. Pure.
std::string slirp_rules(const std::vector<std::string>& machine_addresses);

/// The IPv4 addresses of this machine's interfaces. Error: `system`.
Result<std::vector<std::string>> machine_addresses();

/// Starts slirp4netns for the network namespace `inner`, with an interface named inner_gateway that
/// has an address and the default route. slirp4netns exits when all write ends of the returned pipe
/// are closed. Blocks until it is ready, for at most 10 s. Error: the reason, and what to do.
Result<Fd> start_slirp(const Fd& inner, const Env& env);

}  // namespace muster::container
