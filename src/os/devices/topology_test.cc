#include "os/devices/topology.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

using Places = std::vector<std::size_t>;
using Numbers = std::vector<std::optional<std::int64_t>>;

/// The form of `nvidia-smi topo -m` on a machine with two pairs of bridged cards and a network
/// card.
constexpr const char* two_pairs =
    "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\033[0m\n"
    "GPU0\t X \tNODE\tNV4\tSYS\tPIX\t0-15\t0\n"
    "GPU1\tNODE\t X \tSYS\tNV4\tSYS\t0-15\t0\n"
    "GPU2\tNV4\tSYS\t X \tNODE\tSYS\t16-31\t1\n"
    "GPU3\tSYS\tNV4\tNODE\t X \tSYS\t16-31\t1\n"
    "NIC0\tPIX\tSYS\tSYS\tSYS\t X \t\t\n"
    "\n"
    "Legend:\n\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes\n";

TEST_CASE("topology: the matrix is read, and no other text") {
  const Topology topology = Topology::from(two_pairs);
  CHECK(topology.between(0, 2) == 14);
  CHECK(topology.between(0, 1) == 2);
  CHECK(topology.between(1, 2) == 1);
  CHECK(topology.between(0, 0) == 0);
  CHECK(topology.between(0, 9) == 0);
  CHECK(Topology::from("").empty());
  CHECK(Topology::from("No devices were found\n").empty());
  CHECK(Topology::from("GPU0\tGPU1\nGPU0\n").empty());
}

TEST_CASE("topology: the best connected GPUs are chosen together, and the rest stays whole") {
  const Topology topology = Topology::from(two_pairs);
  struct {
    const char* name;
    Numbers free;
    std::size_t count;
    Places want;
  } const cases[] = {
      {"a pair", {0, 1, 2, 3}, 2, {0, 2}},
      {"the other pair", {1, 2, 3}, 2, {0, 2}},
      {"one alone breaks no pair", {0, 1, 3}, 1, {0}},
      {"one of many", {0, 1, 2, 3}, 1, {0}},
      {"all", {0, 1, 2, 3}, 4, {0, 1, 2, 3}},
      {"none", {0, 1}, 0, {}},
      {"more than there are", {3, 1}, 5, {0, 1}},
      {"no numbers", {std::nullopt, std::nullopt, std::nullopt}, 2, {0, 1}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(choose(c.free, c.count, topology) == c.want);
  }
  CHECK(choose({0, 1, 2}, 2, Topology()) == Places{0, 1});
}

}  // namespace
}  // namespace muster::devices
