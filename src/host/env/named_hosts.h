#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "net/addresses/interfaces.h"

namespace muster::env {

// A job's hosts as a line, a variable or what started the line names them, where no file of a
// platform does. Source of the variables: docs/protocols/environment.md.

struct NamedHosts {
  std::vector<std::string> hosts;  ///< In the job's order: the first leads.
  std::string own;                 ///< One of `hosts`; empty: to be found by name or address.
  std::string said_by;             ///< "MUSTER_HOSTS", "SLURM_STEP_NODELIST": for messages.
};

/// Pure. The hosts that `env` names, by MUSTER_HOSTS, else as those of a Slurm step of several
/// nodes; none if it names none. The own host is MUSTER_HOST, else the one whose place
/// SLURM_NODEID (of such a step) or JOB_COMPLETION_INDEX (of a Kubernetes Job) is. Errors:
/// `invalid_input`, naming the variable.
Result<std::optional<NamedHosts>> named_hosts(const Env& env);

/// What a machine is called, and the numeric addresses of its interfaces but the loopback's.
struct OwnNames {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
};
/// A host's numeric addresses; empty if its name means nothing here.
using AddressesOf = std::function<std::vector<std::string>(const std::string& host)>;

/// Pure. Which of the hosts this machine is: by one of its names, else by the names' first labels,
/// else by an address. Error: `invalid_input` if none or several match.
Result<std::string> own_among(const NamedHosts& named, const OwnNames& own,
                              const AddressesOf& addresses_of);

/// Pure. The hosts reach each other by IPv4. Error: `invalid_input`, naming a host that has IPv6
/// addresses alone.
Result<void> check_addresses(const NamedHosts& named, const AddressesOf& addresses_of);

/// Pure. This machine's interface in a subnet in which every other host has an address. If there
/// are several, the one with the lowest address, so that all hosts choose the same; empty if there
/// is none. `others`: the other hosts' addresses.
std::string common_interface(const std::vector<InterfaceAddress>& own,
                             const std::vector<std::vector<std::string>>& others);

}  // namespace muster::env
