#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/result.h"
#include "command/line.h"

namespace muster::env {

/// The flags about the job's hosts on an operator's or `train`'s command line; empty: not given.
struct HostFlags {
  std::string hosts;       ///< --hosts: a list in the format of expand_host_list().
  std::string host;        ///< --host: which of them this machine is.
  std::string key_file;    ///< --key-file: the job's key.
  std::string interface;   ///< --interface: the network interface that leads to the others.
  bool preflight = false;  ///< --preflight: the hosts measure themselves before they work.

  /// For command pages with all flags of command::host_flags().
  void bind(command::Line& line);
  /// For command pages with these flags except --preflight.
  void bind_place(command::Line& line);
};

/// `env` with this machine's place among hosts that are not in a platform's file: sets
/// MUSTER_HOSTS, MUSTER_HOST and MUSTER_INTERFACE, and MUSTER_JOB_KEY_FILE according to the flags.
/// Returns `env` unchanged if no hosts are named (named_hosts.h) or if the place is already set.
/// Flags override MUSTER_* variables, which override resourceconfig.json, which overrides the
/// variables of the launcher that started this command. Blocks while names are looked up. Errors:
/// `invalid_input`, naming the flag or the variable.
Result<Env> placed(const Env& env, const HostFlags& flags = {});

/// Checks that this host and the leader of a job's roll call have IPv4 addresses, if their names
/// resolve here. It checks only these two: looking up a host that does not exist yet may be slow,
/// and each host checks its own name. Blocks while two names are looked up. Error: `invalid_input`,
/// naming the host.
Result<void> check_own_and_leader(const std::string& own, const std::string& leader);

/// The address at which the other `hosts` reach `own`, one of them, whose name resolves to
/// `address` here. This is `address` itself, unless it is this machine's loopback (Debian's
/// /etc/hosts has 127.0.1.1): then it is the address from which this machine reaches one of them.
/// Empty: unknown. Blocks while names are looked up.
std::string address_for_others(std::string address, const std::string& own,
                               const std::vector<std::string>& hosts);

}  // namespace muster::env
