#pragma once

#include "base/command.h"
#include "base/result.h"
#include "container/cipher.h"
#include "container/id_map.h"
#include "container/process.h"
#include "job/host_spec.h"

namespace muster::container {

/// The first cipher of Cipher's that this machine has: tried in the network namespace that the
/// calling thread is in, where nothing is left of it. Error: `not_found`, with what would help.
Result<Cipher> find_cipher(const Env& env);

// A tunnel is made in three steps, the middle one for Cipher::wireguard_go alone. Of the first and
// the last the calling thread is in the host's network namespace, where its cable is. Afterwards
// the host reaches the job's other hosts by the cipher alone. Errors: `not_found`, `system`,
// `timeout`.

Result<void> lay_tunnel(const job::HostSpec& spec, Cipher cipher, const Env& env);

/// Starts the process that is the tunnel of the network namespace `network`: as the host's root, in
/// namespaces of its own. It dies with the calling thread.
Result<Process> run_wireguard_go(const job::HostSpec& spec, int network, const IdMap& ids,
                                 const Env& env);

/// `outside`: what is outside of the job is reached by the cable.
Result<void> link_tunnel(const job::HostSpec& spec, Cipher cipher, bool outside, const Env& env);

}  // namespace muster::container
