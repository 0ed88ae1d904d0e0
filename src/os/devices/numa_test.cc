#include "os/devices/numa.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"

namespace muster::devices {
namespace {

Cpus range(const char* list) {
  return *cpus_from(list);
}

/// Two sockets of 16 processors, whose second threads have higher numbers, with four GPUs each.
const std::vector<NumaNode> sockets = {{0, range("0-7,16-23")}, {1, range("8-15,24-31")}};
std::vector<NumaCard> cards(const std::vector<int>& numbers) {
  std::vector<NumaCard> found;
  for (const int number : numbers) found.push_back({number, number / 4});
  return found;
}

TEST_CASE("numa: a host has its place where its share of processors fits") {
  const std::vector<NumaNode> one = {{0, range("0-31")}};
  const std::vector<NumaNode> with_memory = {{0, range("0-31")}, {1, {}}};
  const std::vector<NumaNode> four = {
      {0, range("0-7")}, {1, range("8-15")}, {2, range("16-23")}, {3, range("24-31")}};
  const auto node_2 = std::vector<NumaCard>{{0, 2}};
  struct {
    const char* name;
    std::vector<NumaNode> nodes;
    NumaWish wish;
    NumaPlace want;
  } const cases[] = {
      {"one GPU of eight", sockets, {cards({1}), range("0-31"), 4}, {{0}, range("0-7,16-23")}},
      {"four on the second",
       sockets,
       {cards({4, 5, 6, 7}), range("0-31"), 16},
       {{1}, range("8-15,24-31")}},
      {"on both", sockets, {cards({3, 4}), range("0-31"), 8}, {}},
      {"all eight", sockets, {cards({0, 1, 2, 3, 4, 5, 6, 7}), range("0-31"), 32}, {}},
      {"more than a node has",
       sockets,
       {cards({0}), range("0-31"), 20},
       {.why_not = "the host's share is 20 CPUs, but node 0 of its GPUs has 16 CPUs for it"}},
      {"inside what the caller gave",
       sockets,
       {cards({0}), range("2-3,8-9"), 2},
       {{0}, range("2-3")}},
      {"given as the scheduler chose",
       sockets,
       {cards({5}), range("24-27"), 4},
       {{1}, range("24-27")}},
      {"given elsewhere",
       sockets,
       {cards({5}), range("0-3"), 4},
       {.why_not = "the host's share is 4 CPUs, but node 1 of its GPUs has 0 CPUs for it"}},
      {"one is too few",
       sockets,
       {cards({5}), range("0-3,8"), 2},
       {.why_not = "the host's share is 2 CPUs, but node 1 of its GPUs has 1 CPU for it"}},
      {"two nodes of four",
       four,
       {{{0, 0}, {1, 2}}, range("0-31"), 16},
       {{0, 2}, range("0-7,16-23")}},
      {"a machine of one node", one, {cards({0}), range("0-31"), 4}, {}},
      {"memory of a GPU as a node", with_memory, {{{0, 0}}, range("0-31"), 4}, {}},
      {"a slot of no node",
       sockets,
       {{{0, 0}, {1, std::nullopt}}, range("0-31"), 4},
       {.why_not = "this machine does not report the node of every GPU"}},
      {"a node that is not there",
       sockets,
       {node_2, range("0-31"), 4},
       {.why_not = "this machine does not report the node of every GPU"}},
      {"no GPU", sockets, {{}, range("0-31"), 4}, {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const NumaPlace place = place_host(c.nodes, c.wish);
    CHECK(place.nodes == c.want.nodes);
    CHECK(place.cpus == c.want.cpus);
    CHECK(place.why_not == c.want.why_not);
  }
  CHECK(fair_share(64, 1, 8) == 8);
  CHECK(fair_share(63, 4, 8) == 31);
  CHECK(fair_share(64, 1, 1) == 64);
  CHECK(fair_share(64, 1, 0) == 64);
}

TEST_CASE("numa: a rank has its place if each of the host's ranks has a GPU") {
  const std::vector<NumaNode> all = nodes_of_gpus(sockets, cards({0, 1, 2, 3, 4, 5, 6, 7}));
  REQUIRE(all.size() == 8);
  const std::vector<NumaNode> mostly_first = nodes_of_gpus(sockets, cards({0, 1, 2, 4}));
  struct {
    const char* name;
    std::vector<NumaNode> gpus;
    Cpus allowed;
    int rank, size;
    std::optional<NumaNode> want;
  } const cases[] = {
      {"the first", all, range("0-31"), 0, 8, NumaNode{0, range("0-7,16-23")}},
      {"the last", all, range("0-31"), 7, 8, NumaNode{1, range("8-15,24-31")}},
      {"some of the processors", all, range("0-15"), 7, 8, NumaNode{1, range("8-15")}},
      {"none of them there", all, range("0-7"), 7, 8, {}},
      {"one rank with all GPUs", all, range("0-31"), 0, 1, {}},
      {"two ranks a GPU", all, range("0-31"), 3, 16, {}},
      {"three of four in one node, for which it is too small",
       mostly_first,
       range("0-31"),
       0,
       4,
       {}},
      {"the fourth is alone in the other", mostly_first, range("0-31"), 3, 4,
       NumaNode{1, range("8-15,24-31")}},
      {"no number", all, range("0-31"), -1, 8, {}},
      {"beyond its host", all, range("0-31"), 8, 8, {}},
      {"nothing known", {}, range("0-31"), 0, 0, {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(place_rank(c.gpus, c.allowed, c.rank, c.size) == c.want);
  }
  CHECK(nodes_of_gpus(sockets, cards({0, 1})).empty());
  CHECK(nodes_of_gpus(sockets, {{0, 0}, {1, std::nullopt}}).empty());
  CHECK(nodes_of_gpus(sockets, {}).empty());
}

TEST_CASE("numa: nodes are text for other processes") {
  const std::vector<NumaNode> two = nodes_of_gpus(sockets, cards({3, 4}));
  CHECK(numa_text(two) == "0:0-7,16-23 1:8-15,24-31");
  CHECK(numa_from(numa_text(two)) == two);
  CHECK(numa_from("0:") == std::vector<NumaNode>{{0, {}}});
  for (const char* text :
       {"", "off", "0", "0:0-3 1", "x:0", "-1:0", "0:3-0", "9999:0", "0:0-9999"}) {
    CAPTURE(text);
    CHECK(numa_from(text).empty());
  }
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "0:0 ";
  CHECK(numa_from(many).empty());
}

/// The files of a machine, as the kernel and the driver write them.
struct Machine {
  std::string path = *make_private_folder("/tmp", "muster-numa-");
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { static_cast<void>(remove_tree(path)); }

  void put(const std::string& file, const std::string& text) const {
    const std::string whole = path + "/" + file;
    REQUIRE(make_folders(whole.substr(0, whole.rfind('/'))));
    REQUIRE(write_file(whole, text));
  }
  void card(const std::string& bus, int number, const std::string& node) const {
    put("gpus/" + bus + "/information", "Model: \t\t NVIDIA H100\nBus Location: \t " + bus +
                                            "\nDevice Minor: \t " + std::to_string(number) + "\n");
    put("sys/bus/pci/devices/" + bus + "/numa_node", node + "\n");
  }
  NumaMachine read() const { return read_numa(path + "/sys", path + "/gpus"); }
};

TEST_CASE("numa: the files of the kernel and of the driver are read") {
  const Machine machine;
  CHECK(machine.read().nodes.empty());
  CHECK(machine.read().cards.empty());
  machine.put("sys/devices/system/node/node1/cpulist", "8-15,24-31\n");
  machine.put("sys/devices/system/node/node0/cpulist", "0-7,16-23\n");
  machine.put("sys/devices/system/node/node2/cpulist", "\n");
  machine.put("sys/devices/system/node/node3/cpulist", "what\n");
  machine.put("sys/devices/system/node/online", "0-2\n");
  machine.card("10000:00:01.0", 3, "1");
  machine.card("0000:89:00.0", 0, "1");
  machine.card("0000:0b:00.0", 1, "0");
  machine.card("0000:0c:00.0", 2, "-1");
  machine.put("gpus/0000:0d:00.0/information", "Model: a card that fell off the bus\n");
  const NumaMachine read = machine.read();
  std::vector<NumaNode> nodes = sockets;
  nodes.push_back({2, {}});
  CHECK(read.nodes == nodes);
  CHECK(read.cards == std::vector<NumaCard>{{1, 0}, {2, std::nullopt}, {0, 1}, {3, 1}});
}

}  // namespace
}  // namespace muster::devices
