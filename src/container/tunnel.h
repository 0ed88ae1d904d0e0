#pragma once

#include <optional>

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

/// In the host's network namespace, where its cable is: from here on it reaches the job's other
/// hosts by the cipher alone. `outside`: and what is outside of the job by the cable. The process,
/// if there is one, is the tunnel: it runs as the host's root in namespaces of its own and dies
/// with the calling thread. Errors: `not_found`, `system`, `timeout`.
Result<std::optional<Process>> open_tunnel(const job::HostSpec& spec, Cipher cipher, bool outside,
                                           const IdMap& ids, const Env& env);

}  // namespace muster::container
