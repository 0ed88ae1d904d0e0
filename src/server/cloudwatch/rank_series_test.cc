#include "server/cloudwatch/rank_series.h"

#include <doctest/doctest.h>

namespace muster::cloudwatch {
namespace {

TEST_CASE("rank series: values lie in cells of rank and time") {
  RankCells cells(100, 200, 10);
  CHECK(cells.width() == 10);
  cells.add({1, "algo-1"}, 109, 2);
  cells.add({1, "algo-1"}, 100, 4);
  cells.add({1, "algo-2"}, 199, 1);
  cells.add({-1, "algo-2"}, 150, 1);
  for (const std::int64_t outside : {99, 200}) cells.add({7, "algo-1"}, outside, 1);
  REQUIRE(cells.rows().size() == 3);
  const RankCells::Row& row = cells.rows().at({1, "algo-1"});
  REQUIRE(row.size() == 1);
  CHECK(row.at(0).sum == 6);
  CHECK(row.at(0).count == 2);
  CHECK(cells.rows().at({1, "algo-2"}).contains(9));
}

TEST_CASE("rank series: as many ranks as a program claims take a bounded room") {
  RankCells cells(0, 10, 10);
  for (int rank = 0; rank < 2000; ++rank) cells.add({rank, "algo-1"}, 1, 1);
  cells.add({5, "algo-1"}, 1, 1);
  CHECK(cells.rows().size() == RankCells::rows_max);
  CHECK(cells.rows().at({5, "algo-1"}).at(1).count == 2);
}

}  // namespace
}  // namespace muster::cloudwatch
