#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/local/subnet.h"

namespace muster::local {

/// What a job has on this machine exclusively while it lives.
struct Network {
  Subnet subnet;
  std::string bridge;         ///< "mu" and 8 hex digits.
  std::int64_t first_id = 0;  ///< The first of 65,536 user and group ids: its hosts' root.

  bool operator==(const Network&) const = default;
};

/// Chooses a network that collides with no route and with no other job, and notes it in
/// `register_file` (docs/protocols/job-folder.md): one line a job, "10.177.0.0/24 mu0123abcd
/// 1879048192 FOLDER". Ids are the first free ones from `id_base` on. A line holds as long as its
/// job folder's lock is held, so nothing needs to be given back. The file belongs to the machine,
/// not to a state folder, because all state folders share the machine's network. It is locked with
/// flock meanwhile. `routes` is the text of /proc/net/route. Error: `system` if no network is free.
Result<Network> allocate_network(const std::string& register_file, const std::string& job_folder,
                                 std::string_view routes, std::int64_t id_base);

/// The first block of 65,536 free ids below 2^31: blocks are tried from `base` on in steps of
/// 65,536, and one is free if no number in `taken` lies in it. Pure. Error: `system`.
Result<std::int64_t> choose_ids(std::int64_t base, const std::vector<std::int64_t>& taken);

}  // namespace muster::local
