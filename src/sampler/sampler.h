#pragma once

#include "base/command.h"

namespace muster::sampler {

/// `sm sampler`: where the processes below a host's first one stand, on standard output
/// (job::HostStacks, as encode() writes it). A process of its own, since it reads what strangers'
/// processes say of themselves: in the host's user namespace, as the host's root, so that it may
/// look at that host and nothing else. Source: docs/protocols/stacks.md.
int sampler_main(const Args& args, const Env& env);

}  // namespace muster::sampler
