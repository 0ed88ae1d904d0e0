#include "logs/rank_series.h"

#include "base/result.h"
#include "base/text.h"

namespace muster::logs {
namespace {

constexpr std::string_view tag_begin = "[1,mpirank:";
constexpr std::int64_t rank_most = 1'000'000;

}  // namespace

std::optional<int> rank_of(std::string_view line) {
  if (!line.starts_with(tag_begin)) return std::nullopt;
  line.remove_prefix(tag_begin.size());
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> rank = parse_integer(line.substr(0, comma));
  if (!rank || *rank < 0 || *rank > rank_most) return std::nullopt;
  return static_cast<int>(*rank);
}

RankCells::RankCells(std::int64_t from, std::int64_t to, std::int64_t most)
    : from_(from), to_(to), width_(1) {
  CHECK_THAT(from < to && most > 0, "a metric in buckets of no time");
  width_ = (to - from + most - 1) / most;
}

void RankCells::add(const Name& name, std::int64_t second, double value) {
  if (!holds(second)) return;
  auto row = rows_.find(name);
  if (row == rows_.end()) {
    if (rows_.size() >= rows_max) return;
    row = rows_.try_emplace(name).first;
  }
  Cell& cell = row->second[(second - from_) / width_];
  cell.sum += value;
  ++cell.count;
}

}  // namespace muster::logs
