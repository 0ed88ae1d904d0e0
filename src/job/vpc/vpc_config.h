#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "job/vpc/networks.h"
#include "job/vpc_place.h"

namespace muster::vpc {

// Where a job's hosts are and what reaches them, from the ids that it named. Pure.

/// A job's VpcConfig: ids.
struct VpcConfig {
  std::vector<std::string> subnets;
  std::vector<std::string> groups;

  bool empty() const { return subnets.empty() && groups.empty(); }
  bool operator==(const VpcConfig&) const = default;
};

/// Ids of `config` that `networks` has not, as they were named.
std::vector<std::string> unknown_ids(const Networks& networks, const VpcConfig& config);

/// All rules of the groups together, as EC2 joins them. A rule for the hosts of another group lets
/// nothing pass: no job reaches another's hosts. Errors: `not_found`: an id that there is not;
/// `invalid_input`: subnets or groups of several VPCs.
Result<job::VpcPlace> place_of(const Networks& networks, const VpcConfig& config);

/// TCP between the hosts of a job that it can't do without.
struct Need {
  int from_port = 0;
  int to_port = 0;
  std::string who;  ///< "the roll call"

  bool operator==(const Need&) const = default;
};

/// "sg-1 forbids tcp 9730 between its hosts, which the roll call needs: no rule lets it in": the
/// first need that is not met between all of the subnets. Empty if all are. `config` is one that
/// place_of() takes.
std::string what_is_forbidden(const Networks& networks, const VpcConfig& config,
                              const std::vector<Need>& needs);

}  // namespace muster::vpc
