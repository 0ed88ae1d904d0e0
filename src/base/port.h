#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

inline constexpr int port_max = 65535;
/// The default port of `sm server` and its clients.
inline constexpr std::uint16_t server_port = 7700;

/// "7700", from 1 to port_max.
std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace muster
