#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// A block of IPv4 addresses in CIDR form. `address` is in host byte order, with no bit set after
/// the first `prefix_length`.
struct AddressBlock {
  std::uint32_t address = 0;
  int prefix_length = 24;

  bool operator==(const AddressBlock&) const = default;
};

bool overlap(const AddressBlock& a, const AddressBlock& b);
/// True if all of `inner` is in `outer`.
bool contains(const AddressBlock& outer, const AddressBlock& inner);
/// "10.177.3.0/24", and back. Error: `invalid_input`.
std::string cidr(const AddressBlock& block);
Result<AddressBlock> block_from(std::string_view text);
/// "10.177.3.7" for `number` 7, which the block has room for.
std::string address_in(const AddressBlock& block, std::uint32_t number);

/// "10.0.3.0/24" for "10.0.3.7" and 24; empty for an invalid IPv4 address or prefix.
std::string subnet_of(const std::string& address, int prefix_bits);

}  // namespace muster
