#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "net/addresses/interfaces.h"

namespace muster::env {

// A job's hosts, if they are listed by a command line, a variable or the launcher's environment
// instead of a platform's file. Source of the variables: docs/protocols/environment.md.

struct NamedHosts {
  std::vector<std::string> hosts;  ///< In the job's order: the first leads.
  std::string own;                 ///< One of `hosts`; empty: to be found by name or address.
  std::string said_by;             ///< "MUSTER_HOSTS", "SLURM_STEP_NODELIST": for messages.
};

/// Pure. The hosts listed in `env`: MUSTER_HOSTS, otherwise the nodes of a Slurm step with several
/// nodes; none if there is no list. This host is MUSTER_HOST, otherwise the one at the position in
/// SLURM_NODEID (of such a step) or JOB_COMPLETION_INDEX (of a Kubernetes Job). Errors:
/// `invalid_input`, naming the variable.
Result<std::optional<NamedHosts>> named_hosts(const Env& env);

/// A machine's names, and the numeric addresses of its interfaces except the loopback.
struct OwnNames {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
};
/// A host's numeric addresses; empty if its name does not resolve here.
using AddressesOf = std::function<std::vector<std::string>(const std::string& host)>;

/// Pure. Finds this machine among the hosts: by its names, otherwise by their first labels,
/// otherwise by address. Error: `invalid_input` if none or several match.
Result<std::string> own_among(const NamedHosts& named, const OwnNames& own,
                              const AddressesOf& addresses_of);

/// Pure. Checks that the hosts have IPv4 addresses. Error: `invalid_input`, naming a host that has
/// only IPv6 addresses.
Result<void> check_addresses(const NamedHosts& named, const AddressesOf& addresses_of);

/// Pure. This machine's interface in a subnet in which every other host has an address. If there
/// are several, the one with the lowest address, so that all hosts choose the same; empty if there
/// is none. `others`: the other hosts' addresses.
std::string common_interface(const std::vector<InterfaceAddress>& own,
                             const std::vector<std::vector<std::string>>& others);

}  // namespace muster::env
