#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/slurm/submission.h"

namespace muster::places {

/// A Slurm cluster of which this machine is a submit host.
struct SlurmCluster {
  slurm::Site site{};
  std::map<std::string, slurm::Site> sites{};  ///< By instance type, in place of `site`.
  std::string node_program{};  ///< `sm` on the nodes, absolute; empty: it is brought.
  std::string node_folder{};   ///< Where nodes keep images; empty: /var/cache/muster.
  std::string shared{};  ///< A folder that nodes have at the same path, absolute; empty: none.
  std::vector<std::string> addresses{};  ///< For nodes to reach this machine; none: all it has.
};

/// One setting: partition, account, qos, hosts, spares, preflight, preflight_THRESHOLD, address,
/// sm, folder, shared, or an option that sbatch may be given, by its name without dashes; with an
/// empty value one that has none. Pure. Error: `invalid_input`.
Result<void> set(SlurmCluster& cluster, const std::string& name, const std::string& value);

/// `engine.slurm` of a server's config: settings as texts, true for an option without value, and
/// `instance_types`, whose settings are those of the cluster but for what they name. Pure. Error:
/// `invalid_input`, with the key.
Result<SlurmCluster> slurm_cluster_from(const Json& json);

}  // namespace muster::places
