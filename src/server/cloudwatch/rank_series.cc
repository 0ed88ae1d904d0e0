#include "server/cloudwatch/rank_series.h"

#include "base/result.h"

namespace muster::cloudwatch {

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

}  // namespace muster::cloudwatch
