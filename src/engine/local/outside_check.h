#pragma once

#include <string>

#include "base/command.h"

namespace muster::local {

/// Why jobs of this machine cannot reach anything outside of it, as far as this is known before one
/// starts; empty if they can. `env`: PATH finds programs. A steward finds out the rest
/// (container/host_network/gateway.h).
std::string why_no_outside(const Env& env);

}  // namespace muster::local
