#include "engine/cluster/swap.h"

#include <doctest/doctest.h>

namespace muster::cluster {
namespace {

const AttemptNode well_1{"algo-1", "node1", true, ""};
const AttemptNode well_2{"algo-2", "node2", true, ""};
const AttemptNode lost_2{"algo-2", "node2", false, "its node does not respond"};
const AttemptNode killed_2{"algo-2", "node2", true, "its steward was killed"};
const AttemptNode spare_1{"spare-1", "node5", true, ""};
const AttemptNode spare_2{"spare-2", "node6", true, ""};
const AttemptNode gone_1{"spare-1", "node5", false, ""};

using Moves = std::vector<Swap::Move>;

}  // namespace

TEST_CASE("swap: a host that is lost has the node of a spare, under its own name") {
  const std::optional<Swap> swap = plan_swap({well_1, lost_2}, {spare_1, spare_2});
  REQUIRE(swap);
  CHECK(swap->moves == Moves{{"algo-1", "algo-1"}, {"spare-1", "algo-2"}, {"spare-2", "spare-2"}});
  CHECK(swap->spares == std::vector<std::string>{"spare-2"});
  REQUIRE(swap->notes.size() == 1);
  CHECK(swap->notes[0].host == "algo-2");
  CHECK(swap->notes[0].text ==
        "was lost on node2: its node does not respond; node5, a spare, takes its place");
}

TEST_CASE("swap: a steward that was killed restarts on its node, and takes no spare") {
  const std::optional<Swap> swap = plan_swap({well_1, killed_2}, {spare_1});
  REQUIRE(swap);
  CHECK(swap->moves == Moves{{"algo-1", "algo-1"}, {"algo-2", "algo-2"}, {"spare-1", "spare-1"}});
  REQUIRE(swap->notes.size() == 1);
  CHECK(swap->notes[0].text == "was lost on node2: its steward was killed; it restarts there");
}

TEST_CASE("swap: spares that are gone are skipped, and too few do not count") {
  CHECK(plan_swap({well_1, lost_2}, {gone_1, spare_2})->moves ==
        Moves{{"algo-1", "algo-1"}, {"spare-2", "algo-2"}});
  CHECK(!plan_swap({well_1, lost_2}, {gone_1}));
  CHECK(!plan_swap({well_1, lost_2}, {}));
  AttemptNode never = lost_2;
  never.node.clear();
  CHECK(plan_swap({well_1, never}, {spare_1})->notes[0].text ==
        "was lost: its node does not respond; node5, a spare, takes its place");
  CHECK(plan_swap({well_1, well_2}, {})->notes.empty());
}

}  // namespace muster::cluster
