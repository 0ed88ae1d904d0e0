#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/host_spec.h"

namespace muster::container {

/// How the hosts of one job reach what is outside of their machine: their bridge's namespace routes
/// to the machine's over a cable, the gateway, and the machine hands on what it lets pass under its
/// own address.
///
/// Pure. docs/decisions/0028-network-of-jobs.md says why so.
struct Outside {
  std::string table;           ///< The nftables table of the job, named as its bridge.
  std::string gateway;         ///< The cable's end on the machine.
  std::string subnet_start;    ///< "10.177.3.0", with the 24 bits of `subnet`.
  std::string subnet;          ///< "10.177.3.0/24": the hosts and both ends of the gateway.
  std::string bridge_address;  ///< Where the hosts' default route leads.
  std::string inner_address;   ///< The gateway's end next to the bridge.
  std::string outer_address;   ///< The machine's end.
  std::string uplink;          ///< The interface of the machine's default route.
  bool guards_uplink = false;  ///< Only for jobs does the machine hand on what comes in there.
};

inline constexpr int gateway_prefix_length = 31;

/// What no job has to do with: this network, loopback, link-local with the metadata services of
/// clouds, multicast and reserved addresses; Alibaba's metadata service and Azure's, which have
/// ordinary addresses.
inline constexpr const char* forbidden_outside =
    "0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/3, 100.100.100.200, 168.63.129.16";

/// Tracked connections of one job, of about 262,144 on the machine: a job that opens connections
/// without end does not affect others.
inline constexpr int outside_connections_max = 16384;

/// Error: `invalid_input`: hosts that are not in one /24, which leaves no room for a gateway.
Result<Outside> outside_of(const job::HostSpec& spec, std::string uplink, bool guards_uplink);

/// The job's table as `nft -f` reads it. Rules go by the gateway's name: they hold before it is
/// there.
std::string rules(const Outside& outside);

/// The numeric addresses that a resolv.conf(5) names as servers, at most three, as libc reads them.
std::vector<std::string> name_servers(std::string_view resolv_conf);
/// The resolv.conf of a host whose questions go to `server`, on a machine with that one.
std::string host_resolv_conf(std::string_view machine, const std::string& server);

}  // namespace muster::container
