#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/local/subnet.h"
#include "job/spec.h"

namespace muster::local {

/// What a job has on this machine exclusively while it lives.
struct Network {
  Subnet subnet;
  std::string bridge;         ///< "mu" and 8 hex digits.
  std::int64_t first_id = 0;  ///< The first of 65,536 user and group ids: its hosts' root.

  bool operator==(const Network&) const = default;
};

/// What a job's network must not overlap: the machine's routes, and the job's own VPC, whose hosts
/// have addresses of their own. `routes` is the text of /proc/net/route. Error: `invalid_input`.
Result<std::vector<Subnet>> taken_for(const job::Spec& spec, std::string_view routes);

/// Chooses a network that collides with nothing in `taken` and with no other job, and notes it in
/// `register_file` (docs/protocols/job-folder.md): one line a job, "10.177.0.0/24 mu0123abcd
/// 1879048192 FOLDER". Ids are the first free ones from `id_base` on. A line holds as long as its
/// job folder's lock is held, so nothing needs to be given back. The file belongs to the machine,
/// not to a state folder, because all state folders share the machine's network. It is locked with
/// flock meanwhile. Error: `system` if no network is free.
Result<Network> allocate_network(const std::string& register_file, const std::string& job_folder,
                                 std::vector<Subnet> taken, std::int64_t id_base);

/// The first block of 65,536 free ids below 2^31: blocks are tried from `base` on in steps of
/// 65,536, and one is free if no number in `taken` lies in it. Pure. Error: `system`.
Result<std::int64_t> choose_ids(std::int64_t base, const std::vector<std::int64_t>& taken);

}  // namespace muster::local
