#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/host_spec.h"

namespace muster::container {

/// The connection of a job's hosts to networks outside their machine. The namespace of their bridge
/// routes packets to the machine's namespace over a veth pair, the gateway. The machine forwards
/// allowed packets with its own address.
///
/// Pure. Reasons: docs/decisions/0028-network-of-jobs.md.
struct Outside {
  std::string table;           ///< The nftables table of the job, named as its bridge.
  std::string gateway;         ///< The gateway's end on the machine.
  std::string subnet_start;    ///< "10.177.3.0", with the 24 bits of `subnet`.
  std::string subnet;          ///< "10.177.3.0/24": the hosts and both ends of the gateway.
  std::string bridge_address;  ///< The hosts' default gateway.
  std::string inner_address;   ///< The gateway's end next to the bridge.
  std::string outer_address;   ///< The machine's end.
  std::string uplink;          ///< The interface of the machine's default route.
  bool guards_uplink = false;  ///< The machine forwards packets that arrive there only to jobs.
};

inline constexpr int gateway_prefix_length = 31;

/// Destinations that are blocked for all jobs: 0.0.0.0/8, loopback, link-local (with the clouds'
/// metadata services), multicast and reserved addresses, and the metadata services of Alibaba and
/// Azure, which have ordinary addresses.
inline constexpr const char* forbidden_outside =
    "0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/3, 100.100.100.200, 168.63.129.16";

/// Tracked connections of one job, of about 262,144 on the machine: a job that opens connections
/// endlessly does not affect others.
inline constexpr int outside_connections_max = 16384;

/// Error: `invalid_input`: hosts that are not in one /24, which leaves no room for a gateway.
Result<Outside> outside_of(const job::HostSpec& spec, std::string uplink, bool guards_uplink);

/// The job's nftables table, in the format of `nft -f`. The rules match the gateway by its name, so
/// they apply as soon as the gateway exists.
std::string rules(const Outside& outside);

/// The numeric addresses that a resolv.conf(5) names as servers, at most three, as libc reads them.
std::vector<std::string> name_servers(std::string_view resolv_conf);
/// The resolv.conf of a host whose DNS server is `server`. `machine`: the machine's resolv.conf.
std::string host_resolv_conf(std::string_view machine, const std::string& server);

}  // namespace muster::container
