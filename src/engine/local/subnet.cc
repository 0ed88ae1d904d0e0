#include "engine/local/subnet.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace muster::local {
namespace {

constexpr std::uint32_t mask_of(int prefix_length) {
  return prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_length);
}

constexpr std::uint32_t dotted(std::uint32_t a, std::uint32_t b) {
  return a << 24 | b << 16;
}

constexpr Subnet ranges[] = {{dotted(10, 177), 16}, {dotted(172, 29), 16}, {dotted(198, 18), 15}};

/// A field of /proc/net/route: the address as it lies in memory, read as a hex number.
std::optional<std::uint32_t> network_order(const std::string& field) {
  const std::optional<std::string> bytes = from_hex(field);
  if (!bytes || bytes->size() != 4) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>((*bytes)[i]);
  return value;
}

std::optional<int> prefix_length_of(std::uint32_t mask) {
  for (int length = 0; length <= 32; ++length)
    if (mask_of(length) == mask) return length;
  return std::nullopt;
}

bool is_free(const Subnet& subnet, const std::vector<Subnet>& taken) {
  for (const Subnet& other : taken)
    if (overlap(subnet, other)) return false;
  return true;
}

}  // namespace

std::vector<Subnet> routes_from(std::string_view proc_net_route) {
  std::vector<Subnet> routes;
  for (const std::string& line : split(proc_net_route, '\n')) {
    const std::vector<std::string> fields = split_words(line);
    if (fields.size() < 8) continue;
    const std::optional<std::uint32_t> destination = network_order(fields[1]);
    const std::optional<std::uint32_t> mask = network_order(fields[7]);
    if (!destination || !mask) continue;
    const std::optional<int> length = prefix_length_of(*mask);
    if (length && *length > 0) routes.push_back({*destination & *mask, *length});
  }
  return routes;
}

Result<Subnet> choose_subnet(const std::vector<Subnet>& taken) {
  for (const Subnet& range : ranges) {
    const std::uint32_t size = std::uint32_t{1} << (32 - range.prefix_length);
    for (std::uint32_t at = 0; at < size; at += 256)
      if (const Subnet subnet{range.address + at, 24}; is_free(subnet, taken)) return subnet;
  }
  return fail(Errc::system,
              "no free network for the job: the machine's routes and other jobs already use all of "
              "10.177.0.0/16, 172.29.0.0/16 and 198.18.0.0/15");
}

}  // namespace muster::local
