#include "job/vpc_place.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/port.h"
#include "base/text.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

constexpr std::uint32_t router_number = 1;
constexpr std::uint32_t first_number = 4;
constexpr int shortest_prefix = 8;
constexpr int longest_prefix = 29;
constexpr int protocol_max = 255;

/// How many hosts a subnet has addresses for.
std::uint32_t room_in(const AddressBlock& subnet) {
  const std::uint32_t size = std::uint32_t{1} << (32 - subnet.prefix_length);
  return size - first_number - 1;
}

/// The block that `text` names, of those that hosts can have; checked before.
AddressBlock block_of(const std::string& text) {
  return block_from(text).value_or({0, longest_prefix});
}

Result<void> check_block(const std::string& field, const std::string& text) {
  const Result<AddressBlock> block = block_from(text);
  if (!block) return block.error().in(field);
  if (block->prefix_length < shortest_prefix || block->prefix_length > longest_prefix)
    return expected(field, "a CIDR block from /8 to /29");
  return {};
}

Result<void> check_passages(const std::string& field, const std::vector<Passage>& passages) {
  for (const Passage& passage : passages) {
    const std::optional<std::int64_t> number = parse_integer(passage.protocol);
    const bool named = passage.protocol == "tcp" || passage.protocol == "udp" ||
                       passage.protocol == "icmp" || passage.protocol == "-1";
    if (!named && !(number && *number >= 0 && *number <= protocol_max))
      return expected(field + ".Protocol", "tcp, udp, icmp, -1 or a number from 0 to 255");
    for (const int port : {passage.from_port, passage.to_port})
      if (port < -1 || port > port_max)
        return expected(field + ".FromPort", "a number from -1 to 65535");
    if (passage.cidr.empty()) continue;
    if (const Result<AddressBlock> block = block_from(passage.cidr); !block)
      return block.error().in(field + ".Cidr");
  }
  return {};
}

Json passages_json(const std::vector<Passage>& passages) {
  Json list = Json::array();
  for (const Passage& passage : passages)
    list.push_back({{"Protocol", passage.protocol},
                    {"FromPort", passage.from_port},
                    {"ToPort", passage.to_port},
                    {"Cidr", passage.cidr}});
  return list;
}

void read_passages(Fields& outer, const char* name, std::vector<Passage>& passages) {
  const Json* const list = outer.array(name);
  if (list == nullptr) return;
  for (const Json& each : *list) {
    Fields fields(each, outer.path_of(name));
    Passage& passage = passages.emplace_back();
    fields.text("Protocol", passage.protocol, true);
    fields.integer("FromPort", passage.from_port);
    fields.integer("ToPort", passage.to_port);
    fields.text("Cidr", passage.cidr);
    fields.no_others();
    outer.take(fields);
  }
}

}  // namespace

Result<std::vector<PlacedAddress>> addresses_of(const VpcPlace& place, int hosts) {
  std::vector<PlacedAddress> addresses;
  std::uint32_t room = 0;
  for (const std::string& subnet : place.subnets) room += room_in(block_of(subnet));
  if (room < static_cast<std::uint32_t>(hosts))
    return fail(Errc::invalid_input, "the subnets have addresses for " + std::to_string(room) +
                                         " hosts, but the job has " + std::to_string(hosts));
  for (std::uint32_t round = 0; addresses.size() < static_cast<std::size_t>(hosts); ++round)
    for (const std::string& text : place.subnets) {
      const AddressBlock subnet = block_of(text);
      if (round >= room_in(subnet) || addresses.size() == static_cast<std::size_t>(hosts)) continue;
      addresses.push_back(
          {address_in(subnet, first_number + round), subnet, address_in(subnet, router_number)});
    }
  return addresses;
}

Result<void> check(const VpcPlace& place) {
  TRY(check_block("Muster.Vpc.Cidr", place.cidr));
  if (place.subnets.empty()) return expected("Muster.Vpc.Subnets", "at least one subnet");
  for (const std::string& subnet : place.subnets) {
    TRY(check_block("Muster.Vpc.Subnets", subnet));
    if (!contains(block_of(place.cidr), block_of(subnet)))
      return expected("Muster.Vpc.Subnets", "CIDR blocks within " + place.cidr);
  }
  TRY(check_passages("Muster.Vpc.In", place.in));
  return check_passages("Muster.Vpc.Out", place.out);
}

Json to_json(const VpcPlace& place) {
  return {{"Cidr", place.cidr},
          {"Subnets", place.subnets},
          {"In", passages_json(place.in)},
          {"Out", passages_json(place.out)}};
}

Result<VpcPlace> vpc_place_from(const Json& json) {
  VpcPlace place;
  Fields fields(json, "Muster.Vpc");
  fields.text("Cidr", place.cidr, true);
  fields.text_list("Subnets", place.subnets);
  read_passages(fields, "In", place.in);
  read_passages(fields, "Out", place.out);
  fields.no_others();
  if (fields.error()) return *fields.error();
  TRY(check(place));
  return place;
}

}  // namespace muster::job
