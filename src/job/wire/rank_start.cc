#include "job/wire/rank_start.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "job/limits.h"

namespace muster::job {

std::string encode(const RankStart& start) {
  return to_text(Json{{"rank", start.rank}, {"pid", start.pid}});
}

std::optional<RankStart> rank_start_from(std::string_view payload) {
  const Result<Json> json = parse_json(payload);
  const auto number = [&json](const char* name, std::int64_t least, std::int64_t most) {
    const bool has_form =
        json && json->is_object() && json->contains(name) && (*json)[name].is_number_integer();
    const std::int64_t value = has_form ? (*json)[name].get<std::int64_t>() : least - 1;
    return value < least || value > most ? least - 1 : value;
  };
  constexpr std::int64_t pids_max = 1 << 22;  // The kernel's own limit.
  const std::int64_t rank = number("rank", 0, ranks_max - 1);
  const std::int64_t pid = number("pid", 1, pids_max);
  if (rank < 0 || pid < 1) return std::nullopt;
  return RankStart{static_cast<int>(rank), pid};
}

}  // namespace muster::job
