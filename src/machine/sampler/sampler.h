#pragma once

#include "base/command.h"

namespace muster::sampler {

/// `sm sampler`: prints the stacks of the processes below a host's first one on standard output
/// (job::HostStacks, as encode() writes it). It is a separate process because it reads data of
/// untrusted processes: it runs in the host's user namespace, as the host's root, so that it can
/// look only at that host. Source: docs/protocols/stacks.md.
int sampler_main(const Args& args, const Env& env);

}  // namespace muster::sampler
