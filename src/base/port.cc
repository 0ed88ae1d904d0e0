#include "base/port.h"

#include "base/text.h"

namespace muster {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const std::optional<std::int64_t> port = parse_integer(text);
  if (!port || *port < 1 || *port > port_max) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

}  // namespace muster
