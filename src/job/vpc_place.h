#pragma once

#include <string>
#include <vector>

#include "base/address_block.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::job {

/// What one rule of a job's security groups allows.
struct Passage {
  std::string protocol;  ///< "tcp", "udp", "icmp", "-1" (all), or a number as text: "50".
  int from_port = -1;    ///< tcp, udp: 0 to 65535; icmp: the type; -1: all.
  int to_port = -1;      ///< icmp: the code; -1: all.
  std::string cidr{};    ///< Who is at the other end; empty: the job's own hosts.

  bool operator==(const Passage&) const = default;
};

/// A job's place in a VPC, with every name already looked up: its hosts have addresses of the
/// subnets, and reach each other and the outside as far as the passages allow.
///
/// Pure. docs/decisions/0038-vpc-of-jobs.md says why so.
struct VpcPlace {
  std::string cidr;  ///< The VPC's network; its addresses without a host of the job are unused.
  std::vector<std::string> subnets;  ///< CIDRs, parts of `cidr`; not empty.
  std::vector<Passage> in;           ///< Between hosts.
  std::vector<Passage> out;          ///< Between hosts, and from them to the outside.

  bool operator==(const VpcPlace&) const = default;
};

/// A host's address, and the router that it sends everything to.
struct PlacedAddress {
  std::string address;
  AddressBlock subnet;
  std::string router;  ///< The subnet's first address, as AWS has it.

  bool operator==(const PlacedAddress&) const = default;
};

/// Addresses for algo-1, algo-2, …: from each subnet in turn, starting with its fifth address (AWS
/// keeps the first four and the last). Error: `invalid_input`: the subnets do not have enough.
Result<std::vector<PlacedAddress>> addresses_of(const VpcPlace& place, int hosts);

/// Error: `invalid_input`, naming the field.
Result<void> check(const VpcPlace& place);

Json to_json(const VpcPlace& place);
/// Checked as check() does. Error: `invalid_input`, naming the field.
Result<VpcPlace> vpc_place_from(const Json& json);

}  // namespace muster::job
