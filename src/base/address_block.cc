#include "base/address_block.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::uint32_t mask_of(int prefix_length) {
  return prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_length);
}

}  // namespace

bool overlap(const AddressBlock& a, const AddressBlock& b) {
  const int shorter = std::min(a.prefix_length, b.prefix_length);
  return ((a.address ^ b.address) & mask_of(shorter)) == 0;
}

bool contains(const AddressBlock& outer, const AddressBlock& inner) {
  return outer.prefix_length <= inner.prefix_length && overlap(outer, inner);
}

std::string address_in(const AddressBlock& block, std::uint32_t number) {
  CHECK_THAT((number & mask_of(block.prefix_length)) == 0, "an address lies in its block");
  const std::uint32_t address = block.address + number;
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += std::to_string(address >> shift & 255) + (shift > 0 ? "." : "");
  return text;
}

std::string cidr(const AddressBlock& block) {
  return address_in(block, 0) + "/" + std::to_string(block.prefix_length);
}

Result<AddressBlock> block_from(std::string_view text) {
  const Error wrong =
      fail(Errc::invalid_input,
           "\"" + to_utf8(text) + "\" is not a network in CIDR notation, e.g. 10.177.0.0/24");
  const std::vector<std::string> halves = split(text, '/');
  if (halves.size() != 2) return wrong;
  const std::vector<std::string> bytes = split(halves[0], '.');
  const std::optional<std::int64_t> length = parse_integer(halves[1]);
  if (bytes.size() != 4 || !length || *length < 0 || *length > 32) return wrong;
  AddressBlock block{0, static_cast<int>(*length)};
  for (const std::string& byte : bytes) {
    const std::optional<std::int64_t> value = parse_integer(byte);
    if (!value || *value < 0 || *value > 255) return wrong;
    block.address = block.address << 8 | static_cast<std::uint32_t>(*value);
  }
  if ((block.address & ~mask_of(block.prefix_length)) != 0) return wrong;
  return block;
}

std::string subnet_of(const std::string& address, int prefix_bits) {
  const Result<AddressBlock> one = block_from(address + "/32");
  if (!one || prefix_bits < 0 || prefix_bits > 32) return {};
  return cidr({one->address & mask_of(prefix_bits), prefix_bits});
}

}  // namespace muster
