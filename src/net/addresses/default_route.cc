#include "net/addresses/default_route.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"

namespace muster {

std::string default_route_interface(std::string_view routes) {
  constexpr std::string_view anywhere = "00000000";
  std::string found;
  std::optional<std::int64_t> lowest;
  for (const std::string& line : split(routes, '\n')) {
    const std::vector<std::string> fields = split_words(line);
    if (fields.size() < 8 || fields[1] != anywhere || fields[7] != anywhere) continue;
    const std::optional<std::int64_t> metric = parse_integer(fields[6]);
    const bool leads_nowhere = fields[0] == "*";  // For unreachable and blackhole routes.
    if (leads_nowhere || !metric || (lowest && *metric >= *lowest)) continue;
    lowest = metric;
    found = fields[0];
  }
  return found;
}

}  // namespace muster
