#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/subnet.h"

namespace muster::engine {

/// A job's network on this machine.
struct Network {
  Subnet subnet;
  std::string bridge;  ///< "mu" and 8 hex digits.

  bool operator==(const Network&) const = default;
};

/// Chooses a network that collides with no route and with no other job, and notes it in
/// `register_file` (docs/protocols/job-folder.md): one line a job, "10.177.0.0/24 mu0123abcd
/// FOLDER". A line holds as long as its job folder's lock is held, so nothing needs to be given
/// back. The file is the machine's, not a state folder's: two states share the machine's network.
/// Held by flock for the moment that this takes. `routes` is the text of /proc/net/route.
Result<Network> allocate_network(const std::string& register_file, const std::string& job_folder,
                                 std::string_view routes);

}  // namespace muster::engine
