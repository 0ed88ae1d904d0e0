#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/local/subnet.h"

namespace muster::local {

/// What a job has on this machine that no other job has at the same time.
struct Network {
  Subnet subnet;
  std::string bridge;         ///< "mu" and 8 hex digits.
  std::int64_t first_id = 0;  ///< The first of 65,536 user and group ids: its hosts' root.

  bool operator==(const Network&) const = default;
};

/// Chooses a network that collides with no route and with no other job, and notes it in
/// `register_file` (docs/protocols/job-folder.md): one line a job, "10.177.0.0/24 mu0123abcd
/// 1879048192 FOLDER". Ids are the first free ones from `id_base` on. A line holds as long as its
/// job folder's lock is held, so nothing needs to be given back. The file is the machine's, not a
/// state folder's: two states share the machine's network. Held by flock for the moment that this
/// takes. `routes` is the text of /proc/net/route. Error: `system` when the machine has none left.
Result<Network> allocate_network(const std::string& register_file, const std::string& job_folder,
                                 std::string_view routes, std::int64_t id_base);

/// The first of 65,536 ids from `base` on, in steps of as many, that none of `taken` begins within;
/// below 2^31. Pure. Error: `system`.
Result<std::int64_t> choose_ids(std::int64_t base, const std::vector<std::int64_t>& taken);

}  // namespace muster::local
