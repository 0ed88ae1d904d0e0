#pragma once

#include <cstdint>
#include <cstdlib>
#include <ranges>
#include <string>

namespace muster::sim {

/// The seeds that a simulation runs: 1 to `usual`. MUSTER_SIM_SEEDS=500 asks for 1 to 500 of every
/// simulation, MUSTER_SIM_SEEDS=17-17 for the one that failed, 1001-2000 for others than usual.
inline auto seeds(std::uint64_t usual) {
  std::uint64_t first = 1;
  std::uint64_t last = usual;
  if (const char* asked = std::getenv("MUSTER_SIM_SEEDS")) {
    const std::string text(asked);
    const std::size_t dash = text.find('-');
    if (dash != std::string::npos) first = std::stoull(text.substr(0, dash));
    last = std::stoull(dash == std::string::npos ? text : text.substr(dash + 1));
  }
  return std::views::iota(first, last + 1);
}

}  // namespace muster::sim
