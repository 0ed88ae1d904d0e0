#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "container/host_network/outside.h"

namespace muster::container {

/// Gateways of this machine: the part of a job's outside connection in the machine's own network
/// (docs/protocols/job-folder.md). Each is noted in /run/muster/gateways before it is created, so
/// that later processes can remove those of a killed steward. Functions block for as long as `nft`
/// takes, some 30 ms.

/// Loads the job's rules, then makes the gateway between the machine's network, in which the
/// calling thread is, and `inner`, the namespace of the job's bridge. Of its inner end nothing is
/// set. `env`: PATH finds `nft`. Errors: why there can be none, what to do about it; nothing is
/// left then.
Result<Outside> open_gateway(const job::HostSpec& spec, int inner, const Env& env);

/// Name of a gateway's end next to the bridge.
inline constexpr const char* inner_gateway = "outside";

/// Removes the rules, and the gateway if it still exists; with the last one, also the machine's
/// forwarding settings. Succeeds if there is none. Error: `system`: nft failed.
Result<void> close_gateway(const std::string& bridge, const Env& env);

/// The bridges of gateways whose job folder is one that `is_living` says no of. Whether a gateway
/// is still there says nothing: it may be in another network namespace, with the same /run.
std::vector<std::string> dead_gateways(
    const std::function<bool(const std::string& job_folder)>& is_living);

}  // namespace muster::container
