#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::job {

/// Payload of a `rank_started` frame from `train` to its steward: {rank, pid}. A rank's program
/// runs, with this number in the host's pid namespace.
struct RankStart {
  int rank = 0;
  std::int64_t pid = 0;

  bool operator==(const RankStart&) const = default;
};
std::string encode(const RankStart& start);
/// None for any other text.
std::optional<RankStart> rank_start_from(std::string_view payload);

}  // namespace muster::job
