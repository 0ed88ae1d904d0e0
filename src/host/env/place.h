#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/result.h"
#include "command/line.h"

namespace muster::env {

/// What an operator's line, or that of `train`, says of the job's hosts; empty: nothing.
struct HostFlags {
  std::string hosts;       ///< --hosts: a list as expand_host_list() reads it.
  std::string host;        ///< --host: which of them this machine is.
  std::string key_file;    ///< --key-file: the job's key.
  std::string interface;   ///< --interface: the network interface that leads to the others.
  bool preflight = false;  ///< --preflight: the hosts measure themselves before they work.

  /// The page has all flags of command::host_flags().
  void bind(command::Line& line);
  /// The page has those without --preflight.
  void bind_place(command::Line& line);
};

/// `env` with this machine's place among hosts that no platform's file tells of: MUSTER_HOSTS,
/// MUSTER_HOST and MUSTER_INTERFACE are set, MUSTER_JOB_KEY_FILE as the flags say. As it is where
/// nobody names hosts (named_hosts.h), and where it is set already. What the line says wins over
/// MUSTER_* variables, those over resourceconfig.json, that over what started the line. Blocks
/// while names are looked up. Errors: `invalid_input`, naming the flag or the variable.
Result<Env> placed(const Env& env, const HostFlags& flags = {});

/// Checks that this host and the leader of a job's roll call have IPv4 addresses, as far as their
/// names mean anything here. Only these: the name of a host that is not there yet may take a name
/// server's time, and each host looks at its own. Blocks while two names are looked up. Error:
/// `invalid_input`, naming the host.
Result<void> check_own_and_leader(const std::string& own, const std::string& leader);

/// Where the other `hosts` reach `own`, one of them, whose name stands for `address` here: for
/// that, or, where it is this machine's loopback (Debian's /etc/hosts has 127.0.1.1), the address
/// from which one of them is reached. Empty: not known. Blocks while names are looked up.
std::string address_for_others(std::string address, const std::string& own,
                               const std::vector<std::string>& hosts);

}  // namespace muster::env
