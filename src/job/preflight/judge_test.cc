#include "job/preflight/judge.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace muster::preflight {
namespace {

constexpr std::int64_t gib = 1LL << 30;

/// Hosts that have nothing odd.
std::vector<HostFacts> alike(int count) {
  std::vector<HostFacts> hosts;
  for (int i = 1; i <= count; ++i) {
    HostFacts host;
    host.host = "algo-" + std::to_string(i);
    host.node = "node" + std::to_string(i);
    host.disk_bytes = 100 * gib;
    host.disk_free_bytes = 50 * gib;
    host.memory_bytes = 64 * gib;
    host.memory_free_bytes = 60 * gib;
    host.muster = "0.1.0";
    host.build = "aa";
    host.python = "3.11.2";
    host.mpi = "libmpi.so.40.30.4";
    host.mtu = 1500;
    host.interface = "eth0";
    host.addresses = {"10.0.0." + std::to_string(i)};
    host.gpus = {"A100", "A100"};
    host.gpu_driver = "535";
    host.packages = {{"torch", "2.2.1"}};
    for (int j = 1; j <= count; ++j)
      host.names["algo-" + std::to_string(j)] = {"10.0.0." + std::to_string(j)};
    hosts.push_back(host);
  }
  return hosts;
}

/// Both ways of each edge of a ring.
std::vector<PairFacts> ring(int count) {
  std::vector<PairFacts> pairs;
  for (int i = 1; i <= (count == 2 ? 1 : count); ++i) {
    const std::string from = "algo-" + std::to_string(i);
    const std::string to = "algo-" + std::to_string(i % count + 1);
    pairs.push_back({from, to, 40, 23e9, ""});
    pairs.push_back({to, from, 41, 23.2e9, ""});
  }
  return pairs;
}

PairFacts& way(std::vector<PairFacts>& pairs, const std::string& from, const std::string& to) {
  for (PairFacts& pair : pairs)
    if (pair.from == from && pair.to == to) return pair;
  return pairs.at(pairs.size());
}

std::string told(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& each : findings)
    text += (each.level == Finding::Level::error ? "E " : "W ") + each.text + "\n";
  return text;
}

TEST_CASE("hosts that are alike have no findings") {
  for (const int count : {1, 2, 3, 8}) CHECK(told(judge(alike(count), ring(count), {})).empty());
}

TEST_CASE("the outlier is named, with the usual value") {
  using Hosts = std::vector<HostFacts>;
  struct {
    const char* name;
    int count;
    std::function<void(Hosts&)> change;
    const char* want;
  } const cases[] = {
      {"clock behind", 3, [](Hosts& h) { h[1].clock_ahead_ms = -41000; },
       "W the clock of algo-2 (node2) is 41 s behind the others'\n"},
      {"clock of the leader", 3,
       [](Hosts& h) { h[1].clock_ahead_ms = h[2].clock_ahead_ms = -2500; },
       "W the clock of algo-1 (node1) is 2.5 s ahead of the others'\n"},
      {"clock within the limit", 3, [](Hosts& h) { h[1].clock_ahead_ms = 2000; }, ""},
      {"two clocks", 2, [](Hosts& h) { h[1].clock_ahead_ms = 3000; },
       "W the clocks of algo-1 (node1) and algo-2 (node2) are 3 s apart\n"},
      {"package", 3, [](Hosts& h) { h[2].packages["torch"] = "2.1.0"; },
       "W torch: 2.1.0 on algo-3 (node3), 2.2.1 on the others\n"},
      {"package that one lacks", 3, [](Hosts& h) { h[0].packages.clear(); },
       "W torch: none on algo-1 (node1), 2.2.1 on the others\n"},
      {"no majority", 2, [](Hosts& h) { h[1].packages["torch"] = "2.1.0"; },
       "W torch: 2.1.0 on algo-2 (node2), 2.2.1 on algo-1 (node1)\n"},
      {"versions of sm", 3, [](Hosts& h) { h[1].muster = "0.2.0", h[1].build = "bb"; },
       "W sm: 0.2.0 on algo-2 (node2), 0.1.0 on the others\n"},
      {"builds of sm", 3, [](Hosts& h) { h[1].build = "bb"; },
       "W build of sm: bb on algo-2 (node2), aa on the others\n"},
      {"interpreter", 3, [](Hosts& h) { h[1].python = "3.9.2"; },
       "W Python: 3.9.2 on algo-2 (node2), 3.11.2 on the others\n"},
      {"MPI", 3, [](Hosts& h) { h[1].mpi = ""; },
       "W MPI library: none on algo-2 (node2), libmpi.so.40.30.4 on the others\n"},
      {"MTU", 3, [](Hosts& h) { h[1].mtu = 9000; },
       "W MTU: 9000 on algo-2 (node2), 1500 on the others\n"},
      {"a GPU less", 3, [](Hosts& h) { h[1].gpus.pop_back(); },
       "W GPUs: 1 x A100 on algo-2 (node2), 2 x A100 on the others\n"},
      {"a sick card", 3, [](Hosts& h) { h[1].gpu_troubles = {"GPU 3 needs recovery: Reset"}; },
       "W algo-2 (node2): GPU 3 needs recovery: Reset\n"},
      {"a library of another driver", 3,
       [](Hosts& h) { h[1].gpu_driver = "535", h[1].gpu_library = "470"; },
       "W libcuda: 470 on algo-2 (node2), none on the others\n"
       "W algo-2 (node2): the GPU driver has version 535, but libcuda has version 470\n"},
      {"a port less", 3,
       [](Hosts& h) {
         for (HostFacts& host : h) host.rdma = "8 x 400 Gb/sec (4X NDR)";
         h[1].rdma = "7 x 400 Gb/sec (4X NDR)";
       },
       "W InfiniBand and RoCE ports: 7 x 400 Gb/sec (4X NDR) on algo-2 (node2), 8 x 400 Gb/sec (4X "
       "NDR) on the others\n"},
      {"a kernel log that cannot be read", 3,
       [](Hosts& h) { h[0].kernel_log = h[2].kernel_log = "cannot open /dev/kmsg"; },
       "W GPU errors (Xid) cannot be read on algo-1 (node1), algo-3 (node3): add the user to the "
       "group systemd-journal, or run sysctl kernel.dmesg_restrict=0 there\n"},
      {"another driver", 3, [](Hosts& h) { h[1].gpu_driver = "470"; },
       "W GPU driver: 470 on algo-2 (node2), 535 on the others\n"},
      {"disk", 3, [](Hosts& h) { h[1].disk_free_bytes = gib / 2; },
       "W algo-2 (node2) has 512 MiB free on the disk that holds the job's files\n"},
      {"memory", 3, [](Hosts& h) { h[1].memory_free_bytes = 2 * gib; },
       "W algo-2 (node2) has 2 GiB of 64 GiB memory free\n"},
      {"many odd hosts are counted", 13,
       [](Hosts& h) {
         for (std::size_t i = 0; i < 6; ++i) h[i].mtu = 9000, h[i].node = h[i].host;
       },
       "W MTU: 9000 on algo-1, algo-2, algo-3, algo-4 and 2 more, 1500 on the others\n"},
      {"control characters", 3, [](Hosts& h) { h[1].python = "\x1b[2J\n3"; },
       "W Python: \\x1b[2J\\x0a3 on algo-2 (node2), 3.11.2 on the others\n"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Hosts hosts = alike(c.count);
    c.change(hosts);
    CHECK(told(judge(hosts, ring(c.count), {})) == c.want);
  }
}

TEST_CASE("a name that means another address somewhere is an error of that host") {
  std::vector<HostFacts> hosts = alike(3);
  hosts[2].names["algo-1"] = {"10.9.9.9"};
  CHECK(told(judge(hosts, {}, {})) ==
        "E algo-1 resolves to 10.9.9.9 on algo-3 (node3), which is not one of its addresses; it "
        "resolves to 10.0.0.1 on "
        "algo-2 (node2)\n");
  hosts[2].names["algo-1"] = {};
  CHECK(told(judge(hosts, {}, {})) ==
        "E algo-3 (node3) cannot resolve the name algo-1; check /etc/hosts and the name server "
        "there\n");
}

TEST_CASE("a name that means the same foreign address to all may be NAT: a warning") {
  std::vector<HostFacts> hosts = alike(3);
  for (HostFacts& host : hosts) host.names["algo-1"] = {"192.0.2.1"};
  const std::vector<Finding> findings = judge(hosts, {}, {});
  CHECK(told(findings) ==
        "W algo-1 resolves to 192.0.2.1 on algo-2 (node2), which is not one of its own addresses "
        "(10.0.0.1)\n");
  CHECK_FALSE(has_error(findings));
}

TEST_CASE("a host's own name may be its loopback address there, and it may have more addresses") {
  std::vector<HostFacts> hosts = alike(3);
  hosts[0].names["algo-1"] = {"127.0.1.1"};
  hosts[1].names["algo-1"] = {"10.0.0.1", "fd00::1"};
  hosts[0].addresses = {"10.0.0.1", "fd00::1"};
  CHECK(told(judge(hosts, {}, {})).empty());
}

TEST_CASE("the slow way is named with its direction") {
  std::vector<PairFacts> pairs = ring(3);
  way(pairs, "algo-3", "algo-1").bits_per_second = 9.4e9;
  CHECK(told(judge(alike(3), pairs, {})) ==
        "W algo-3 (node3) → algo-1 (node1): 9.4 Gbit/s, others 23 Gbit/s\n");
  pairs = ring(2);
  way(pairs, "algo-2", "algo-1").bits_per_second = 95.4e6;
  CHECK(told(judge(alike(2), pairs, {})) ==
        "W algo-2 (node2) → algo-1 (node1): 95 Mbit/s, others 23 Gbit/s\n");
}

TEST_CASE("a long round trip is reported if people would call it long, too") {
  std::vector<PairFacts> pairs = ring(3);
  way(pairs, "algo-3", "algo-1").latency_us = 190;
  CHECK(told(judge(alike(3), pairs, {})).empty());
  way(pairs, "algo-3", "algo-1").latency_us = 1250;
  CHECK(told(judge(alike(3), pairs, {})) ==
        "W algo-3 (node3) → algo-1 (node1): a round trip takes 1.2 ms, others 41 µs\n");
}

TEST_CASE("a port that does not open is an error, one way or both") {
  std::vector<PairFacts> pairs = ring(3);
  way(pairs, "algo-2", "algo-3").error = "Connection timed out";
  CHECK(told(judge(alike(3), pairs, {})) ==
        "E algo-2 (node2) → algo-3 (node3): no connection: Connection timed out\n");
  way(pairs, "algo-3", "algo-2").error = "Connection timed out";
  const std::vector<Finding> findings = judge(alike(3), pairs, {});
  CHECK(told(findings) ==
        "E algo-2 (node2) ↔ algo-3 (node3): no connection either way: Connection timed out\n");
  CHECK(has_error(findings));
}

TEST_CASE("errors come first") {
  std::vector<HostFacts> hosts = alike(3);
  std::vector<PairFacts> pairs = ring(3);
  hosts[0].mtu = 9000;
  pairs[0].error = "refused";
  const std::vector<Finding> findings = judge(hosts, pairs, {});
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].kind == "port");
  CHECK(to_json(findings[1]).dump() ==
        R"({"hosts":["algo-1"],"kind":"mtu","level":"warning",)"
        R"("text":"MTU: 9000 on algo-1 (node1), 1500 on the others"})");
}

TEST_CASE("thresholds are numbers in variables") {
  const Result<Thresholds> standard = thresholds_from({{"PATH", "/bin"}});
  REQUIRE(standard);
  CHECK(standard->clock_seconds == 2);
  const Result<Thresholds> some = thresholds_from(
      {{"MUSTER_PREFLIGHT_CLOCK_SECONDS", "0.5"}, {"MUSTER_PREFLIGHT_BANDWIDTH_RATIO", "0.9"}});
  REQUIRE(some);
  CHECK(some->clock_seconds == 0.5);
  CHECK(some->bandwidth_ratio == 0.9);
  for (const char* wrong : {"", "x", "-1", "nan", "1.5", "1 "}) {
    CAPTURE(wrong);
    const Result<Thresholds> got = thresholds_from({{"MUSTER_PREFLIGHT_BANDWIDTH_RATIO", wrong}});
    REQUIRE_FALSE(got);
    CHECK(got.error().text.starts_with("MUSTER_PREFLIGHT_BANDWIDTH_RATIO is \""));
  }
}

TEST_CASE("the tables show every host and every way") {
  std::vector<HostFacts> hosts = alike(3);
  hosts[1].clock_ahead_ms = -49;
  hosts[2].clock_ahead_ms = 41280;
  std::vector<PairFacts> pairs = ring(2);
  pairs[1].latency_us = 0;
  CHECK(table_of(hosts, pairs) ==
        "HOST            CLOCK  DISK FREE  MEMORY FREE  GPUS  INTERFACE  MTU   PYTHON  SM\n"
        "algo-1 (node1)  0 s    50 GiB     60 GiB       2     eth0       1500  3.11.2  0.1.0\n"
        "algo-2 (node2)  0 s    50 GiB     60 GiB       2     eth0       1500  3.11.2  0.1.0\n"
        "algo-3 (node3)  +41 s  50 GiB     60 GiB       2     eth0       1500  3.11.2  0.1.0\n"
        "\n"
        "FROM    TO      ROUND TRIP  BANDWIDTH\n"
        "algo-1  algo-2  40 µs       23 Gbit/s\n"
        "algo-2  algo-1  40 µs       23 Gbit/s\n");
  pairs[0].error = "refused";
  CHECK(table_of(alike(1), pairs).find("algo-1  algo-2  no connection  23") != std::string::npos);
}

TEST_CASE("a preflight looks as docs/users/several-machines.md shows it") {
  std::vector<HostFacts> hosts = alike(3);
  constexpr std::int64_t disks[] = {812, 790, 801};
  constexpr std::int64_t memories[] = {492, 495, 488};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].host = hosts[i].node;
    hosts[i].disk_bytes = 1000 * gib;
    hosts[i].disk_free_bytes = disks[i] * gib;
    hosts[i].memory_bytes = 512 * gib;
    hosts[i].memory_free_bytes = memories[i] * gib;
    hosts[i].gpus = {"A100", "A100", "A100", "A100"};
    hosts[i].interface = i < 2 ? "ib0" : "ibs5";
    hosts[i].mtu = 9000;
    hosts[i].python = "3.11.7";
    hosts[i].names.clear();
  }
  hosts[2].packages["torch"] = "2.1.0";
  const std::vector<PairFacts> pairs = {
      {"node1", "node2", 31, 23e9, ""},  {"node2", "node1", 31, 23e9, ""},
      {"node2", "node3", 33, 23e9, ""},  {"node3", "node2", 33, 23e9, ""},
      {"node3", "node1", 32, 9.4e9, ""}, {"node1", "node3", 32, 23e9, ""}};
  CHECK(table_of(hosts, pairs) ==
        "HOST   CLOCK  DISK FREE  MEMORY FREE  GPUS  INTERFACE  MTU   PYTHON  SM\n"
        "node1  0 s    812 GiB    492 GiB      4     ib0        9000  3.11.7  0.1.0\n"
        "node2  0 s    790 GiB    495 GiB      4     ib0        9000  3.11.7  0.1.0\n"
        "node3  0 s    801 GiB    488 GiB      4     ibs5       9000  3.11.7  0.1.0\n"
        "\n"
        "FROM   TO     ROUND TRIP  BANDWIDTH\n"
        "node1  node2  31 µs       23 Gbit/s\n"
        "node2  node1  31 µs       23 Gbit/s\n"
        "node2  node3  33 µs       23 Gbit/s\n"
        "node3  node2  33 µs       23 Gbit/s\n"
        "node3  node1  32 µs       9.4 Gbit/s\n"
        "node1  node3  32 µs       23 Gbit/s\n");
  CHECK(told(judge(hosts, pairs, {})) ==
        "W torch: 2.1.0 on node3, 2.2.1 on the others\n"
        "W node3 → node1: 9.4 Gbit/s, others 23 Gbit/s\n");
}

/// As alike(), each with eth0 in 10.0.0.0/24, eth1 in 10.1.0.0/24, and its own docker0.
std::vector<HostFacts> with_interfaces(int count) {
  std::vector<HostFacts> hosts = alike(count);
  for (int i = 1; i <= count; ++i) {
    const std::string end = std::to_string(i) + "/24";
    hosts[static_cast<std::size_t>(i - 1)].interfaces = {{"docker0", {"172.17.0.1/16"}},
                                                         {"eth0", {"10.0.0." + end}},
                                                         {"eth1", {"10.1.0." + end, "fe80::1/64"}},
                                                         {"lo", {"127.0.0.1/8", "::1/128"}}};
  }
  return hosts;
}

TEST_CASE("judge: the interface that a host is to use is there, and in the subnet of the others") {
  const auto judged = [](const std::vector<HostFacts>& hosts) {
    return told(judge(hosts, {}, Thresholds{}));
  };
  std::vector<HostFacts> hosts = with_interfaces(3);
  CHECK(judged(hosts).empty());
  // Other names in one subnet.
  hosts[1].interfaces = {{"ens5", {"10.0.0.2/24"}}};
  hosts[1].interface = "ens5";
  CHECK(judged(hosts).empty());
  hosts[1].interface = "eth0";
  CHECK(judged(hosts).find("algo-2 (node2) has no network interface \"eth0\" with an address, "
                           "which it is configured to use; it has ens5") != std::string::npos);
  hosts = with_interfaces(3);
  hosts[2].interface = "eth1";
  CHECK(judged(hosts).find(
            "algo-3 (node3) is configured to use eth1, outside the subnet 10.0.0.0/24 that "
            "all hosts share; there it has eth0") != std::string::npos);
  // Two subnets with a way between them.
  hosts = alike(2);
  hosts[0].interfaces = {{"eth0", {"10.0.0.1/24"}}, {"docker0", {"172.17.0.1/16"}}};
  hosts[1].interfaces = {{"eth0", {"10.7.0.2/24"}}, {"docker0", {"172.17.0.1/16"}}};
  CHECK(judged(hosts).empty());
  hosts[1].interfaces = {{"eth0", {"fd00::2/64"}}, {"lo", {"127.0.0.1/8"}}};
  hosts[1].addresses = {"fd00::2"};
  CHECK(judged(hosts).find("algo-2 (node2) has only IPv6 addresses (fd00::2), but a job's hosts "
                           "connect to each other over IPv4") != std::string::npos);
}

}  // namespace
}  // namespace muster::preflight
