#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "container/host_network/outside.h"

namespace muster::container {

/// Gateways of this machine: the part of a job's outside connection in the machine's own network
/// (docs/protocols/job-folder.md). Each gateway is recorded in /run/muster/gateways before it is
/// created, so that later processes can remove the gateways of killed stewards. Functions block
/// while `nft` runs, about 30 ms.

/// Loads the job's rules, then creates the gateway between the machine's network, which the calling
/// thread is in, and `inner`, the namespace of the job's bridge. Does not configure the inner end.
/// `env`: its PATH is searched for `nft`. Error: why the gateway cannot be created, and what to do;
/// nothing is left behind.
Result<Outside> open_gateway(const job::HostSpec& spec, int inner, const Env& env);

/// Name of a gateway's end next to the bridge.
inline constexpr const char* inner_gateway = "outside";

/// Removes the rules, and the gateway if it still exists; with the last one, also the machine's
/// forwarding settings. Succeeds if it does not exist. Error: `system`: nft failed.
Result<void> close_gateway(const std::string& bridge, const Env& env);

/// The bridges of all gateways for whose job folder `is_living` returns false. The gateway itself
/// may be missing, because it can be in another network namespace that shares /run.
std::vector<std::string> dead_gateways(
    const std::function<bool(const std::string& job_folder)>& is_living);

}  // namespace muster::container
