#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

// Pure: how a machine's GPUs are connected, and which of them go together.

namespace muster::devices {

/// How well each pair of GPUs is connected, by their numbers.
class Topology {
 public:
  /// Out of the answer of `nvidia-smi topo -m`; empty for any other text. The best connections are
  /// NVLinks, by their number; then PIX, PXB, PHB, NODE, SYS. Source: the legend of that answer.
  static Topology from(std::string_view matrix);

  bool empty() const { return links_.empty(); }
  /// Higher is better; 0 where nothing is known.
  int between(std::int64_t a, std::int64_t b) const;

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, int> links_;
};

/// Chooses `count` of `free`, the numbers of GPUs (none where one has no number): those that are
/// connected best among each other; of equally good ones those that are connected worst to what is
/// left, so that good groups stay whole; of these the first. Places in `free`, ascending. At most
/// as many as there are.
std::vector<std::size_t> choose(const std::vector<std::optional<std::int64_t>>& free,
                                std::size_t count, const Topology& topology);

}  // namespace muster::devices
