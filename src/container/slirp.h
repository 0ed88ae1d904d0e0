#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"

namespace muster::container {

/// The way outside of an ordinary user's jobs, who may not touch the machine's network:
/// slirp4netns(1), a process that makes each connection again as the user's own.

/// The rules of the namespace in which the job's bridge and slirp4netns' interface stand, as `nft
/// -f` reads them: nothing of the machine, at `machine_addresses` (IPv4), or of clouds' metadata
/// services can be reached. Pure.
std::string slirp_rules(const std::vector<std::string>& machine_addresses);

/// The IPv4 addresses of this machine's interfaces. Error: `system`.
Result<std::vector<std::string>> machine_addresses();

/// Starts slirp4netns for the network namespace `inner`, with an interface named inner_gateway that
/// has an address and the default route. It ends when nobody holds a write end of the pipe any more
/// that is returned. Blocks until it is ready, 10 s at most. Error: why not, what to do about it.
Result<Fd> start_slirp(const Fd& inner, const Env& env);

}  // namespace muster::container
