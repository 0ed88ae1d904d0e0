#include "job/wire/rank_ranges.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("rank ranges: neighbours are one range") {
  CHECK(rank_ranges({}).empty());
  CHECK(rank_ranges({3}) == "3");
  CHECK(rank_ranges({0, 1, 2, 5}) == "0-2,5");
  CHECK(rank_names({3}) == "rank 3");
  CHECK(rank_names({0, 1, 4}) == "ranks 0-1,4");
}

TEST_CASE("rank ranges: a job that numbers its ranks with gaps makes no long line") {
  std::set<int> ranks;
  for (int rank = 0; rank < 64'000; ++rank) ranks.insert(2 * rank);
  const std::string text = rank_ranges(ranks);
  CHECK(text.starts_with("0,2,4,"));
  CHECK(text.ends_with(",198 and 63900 more"));
  CHECK(text.size() < 500);
}

}  // namespace
}  // namespace muster::job
