#include "os/devices/assign.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

std::vector<Gpu> gpus_of(const std::string& kind, int count) {
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) {
    const std::string file = "/dev/" + kind.substr(0, 1) + std::to_string(i);
    gpus.push_back({kind + "=" + std::to_string(i), kind, {.nodes = {{file, file}}}, {}});
  }
  return gpus;
}

TEST_CASE("assign: hosts get separate GPUs, and none of a living host") {
  const std::vector<Gpu> gpus = gpus_of("nvidia.com/gpu", 5);
  const std::vector<Holding> held = {{{"/dev/n1"}, "algo-1", "other"}};
  const auto got = assign(gpus, held, {{"algo-1", 2}, {"algo-2", 0}, {"algo-3", 2}}, Topology());
  REQUIRE(got);
  REQUIRE(got->size() == 3);
  CHECK(got->at(0)[0].name == "nvidia.com/gpu=0");
  CHECK(got->at(0)[1].name == "nvidia.com/gpu=2");
  CHECK(got->at(1).empty());
  CHECK(got->at(2)[1].name == "nvidia.com/gpu=4");
}

TEST_CASE("assign: a job's GPUs are of one kind") {
  std::vector<Gpu> gpus = gpus_of("amd.com/gpu", 1);
  for (const Gpu& gpu : gpus_of("nvidia.com/gpu", 2)) gpus.push_back(gpu);
  CHECK(assign(gpus, {}, {{"algo-1", 1}}, Topology())->at(0)[0].kind == "amd.com/gpu");
  CHECK(assign(gpus, {}, {{"algo-1", 2}}, Topology())->at(0)[0].kind == "nvidia.com/gpu");
  CHECK(!assign(gpus, {}, {{"algo-1", 3}}, Topology()));
}

TEST_CASE("assign: too few GPUs are reported with their holders") {
  const auto none = assign({}, {}, {{"algo-1", 1}}, Topology());
  REQUIRE(!none);
  CHECK(none.error().text ==
        "the job needs 1 GPU, but this machine has no GPUs available for hosts");
  const std::vector<Holding> held = {{{"/dev/n0"}, "algo-1", "a"}, {{"/dev/n2"}, "algo-2", "a"}};
  const auto few =
      assign(gpus_of("nvidia.com/gpu", 3), held, {{"algo-1", 1}, {"algo-2", 1}}, Topology());
  REQUIRE(!few);
  CHECK(few.error().code == Errc::system);
  CHECK(few.error().text ==
        "the job needs 2 GPUs for 2 hosts, but only 1 of 3 GPUs on this machine are free "
        "(nvidia.com/gpu=0 is used by algo-1 of a, nvidia.com/gpu=2 is used by algo-2 of a)");
}

TEST_CASE("assign: a sick card goes to no job, and is named where it is missed") {
  const std::vector<Gpu> gpus = gpus_of("nvidia.com/gpu", 3);
  const std::vector<Holding> held = {{.files = {"/dev/n1"}, .host = "algo-1", .job = "a"},
                                     {.files = {"/dev/n0"}, .sickness = "needs recovery: Reset"}};
  CHECK(assign(gpus, held, {{"algo-1", 1}}, Topology())->at(0)[0].name == "nvidia.com/gpu=2");
  CHECK(assign(gpus, held, {{"algo-1", 2}}, Topology()).error().text ==
        "the job needs 2 GPUs, but only 1 of 3 GPUs on this machine are free (nvidia.com/gpu=0 is "
        "out "
        "of use: it needs recovery: Reset, nvidia.com/gpu=1 is used by algo-1 of a)");
}

TEST_CASE("assign: a card by its other name, or a part of it, is not free") {
  const std::vector<Gpu> gpus = gpus_of("nvidia.com/gpu", 1);
  CHECK(!assign(gpus, {{{"/dev/cap1", "/dev/n0"}, "algo-1", "a"}}, {{"algo-1", 1}}, Topology()));
  const Gpu part{"nvidia.com/gpu=0:1",
                 "nvidia.com/gpu",
                 {.nodes = {{"/dev/n0", "/dev/n0"}, {"/dev/cap2", "/dev/cap2"}}},
                 {}};
  CHECK(assign({part}, {{{"/dev/cap1", "/dev/n0"}, "algo-1", "a"}}, {{"algo-1", 1}}, Topology()));
  CHECK(!assign({part}, {{{"/dev/n0"}, "algo-1", "a"}}, {{"algo-1", 1}}, Topology()));
}

}  // namespace
}  // namespace muster::devices
