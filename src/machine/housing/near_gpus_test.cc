#include "machine/housing/near_gpus.h"

#include <doctest/doctest.h>

namespace muster::steward {
namespace {

/// Two sockets with 8 processors and four GPUs each.
devices::NumaMachine machine() {
  devices::NumaMachine machine{{{0, *cpus_from("0-7")}, {1, *cpus_from("8-15")}}, {}};
  for (int number = 0; number < 8; ++number) machine.cards.push_back({number, number / 4});
  return machine;
}

enum class Kind { container, in_step, light };

job::HostSpec host(const std::vector<int>& gpus, Kind kind = Kind::container,
                   std::int64_t cpu_millis = 0) {
  job::HostSpec spec;
  spec.host = "algo-1";
  spec.spec.cpu_millis = cpu_millis;
  spec.light = kind == Kind::light;
  spec.in_step = kind == Kind::in_step;
  for (const int number : gpus) {
    const std::string path = "/dev/nvidia" + std::to_string(number);
    spec.devices.gpus.push_back(spec.light ? std::to_string(number) : path);
    if (!spec.light) spec.devices.nodes.push_back({path, path});
  }
  if (!spec.light) spec.devices.nodes.push_back({"/dev/nvidiactl", "/dev/nvidiactl"});
  return spec;
}

TEST_CASE("near GPUs: each kind of host has its share") {
  struct {
    const char* name;
    job::HostSpec spec;
    const char* allowed;
    job::NearGpus want;
  } const cases[] = {
      {"a GPU's part", host({5}), "0-15", {"8-15", "1", "", ""}},
      {"four GPUs of eight", host({0, 1, 2, 3}), "0-15", {"0-7", "0", "", ""}},
      {"GPUs on both",
       host({3, 4}),
       "0-15",
       {"", "", "0:0-7 1:8-15",
        "GPUs on all nodes: each of torchrun's ranks runs next to its GPU"}},
      {"--cpus that fit", host({5}, Kind::container, 8000), "0-15", {"8-15", "1", "", ""}},
      {"part of a processor", host({5}, Kind::container, 7500), "0-15", {"8-15", "1", "", ""}},
      {"--cpus that do not",
       host({5}, Kind::container, 9000),
       "0-15",
       {"", "", "",
        "not next to the GPUs: the host's share is 9 CPUs, but node 1 of its GPUs has 8 CPUs for "
        "it"}},
      {"a step with all",
       host({5}, Kind::in_step),
       "0-15",
       {"", "", "",
        "not next to the GPUs: the host's share is 16 CPUs, but node 1 of its GPUs has 8 CPUs for "
        "it"}},
      {"a step with its part", host({5}, Kind::in_step), "8-11", {"8-11", "1", "", ""}},
      {"a light host by places", host({0, 2}, Kind::light), "0-3", {"0-3", "0", "", ""}},
      {"a place that is none",
       host({9}, Kind::light),
       "0-3",
       {"", "", "", "the NUMA nodes of the GPUs are unknown"}},
      {"no GPUs", host({}), "0-15", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const job::NearGpus near = near_gpus(c.spec, machine(), *cpus_from(c.allowed));
    CHECK(near.cpus == c.want.cpus);
    CHECK(near.nodes == c.want.nodes);
    CHECK(near.ranks == c.want.ranks);
    CHECK(near.note == c.want.note);
  }
}

TEST_CASE("near GPUs: a card that is on a machine alone has all processors") {
  devices::NumaMachine alone = machine();
  alone.cards = {{0, 0}};
  CHECK(near_gpus(host({0}), alone, *cpus_from("0-15")).cpus.empty());
  alone.nodes = {{0, *cpus_from("0-15")}};
  CHECK(near_gpus(host({0}), alone, *cpus_from("0-15")) == job::NearGpus());
}

TEST_CASE("near GPUs: parts of cards are where their cards are, and a job may say no") {
  job::HostSpec parts = host({3, 4});
  parts.devices.gpus = {"nvidia.com/gpu=3:0", "nvidia.com/gpu=3:1", "nvidia.com/gpu=4:0"};
  CHECK(near_gpus(parts, machine(), *cpus_from("0-15")).ranks.empty());
  parts = host({3});
  parts.devices.gpus = {"nvidia.com/gpu=3:0", "nvidia.com/gpu=3:1"};
  CHECK(near_gpus(parts, machine(), *cpus_from("0-15")).cpus == "0-7");
  parts.spec.environment = {{job::numa_variable, "off"}};
  const job::NearGpus off = near_gpus(parts, machine(), *cpus_from("0-15"));
  CHECK(off == job::NearGpus{.note = "off"});
  CHECK(near_note(off, "") == "NUMA: off");
}

TEST_CASE("near GPUs: reserved processors decide in the end") {
  const job::NearGpus near{"8-15", "1", "", ""};
  CHECK(is_near(near, ""));
  CHECK(is_near(near, "9-10"));
  CHECK(!is_near(near, "7-8"));
  CHECK(!is_near({}, ""));
  CHECK(near_note(near, "") == "NUMA: CPUs 8-15 and memory of node 1, next to the GPUs");
  CHECK(near_note(near, "9-10") == "NUMA: CPUs 9-10 and memory of node 1, next to the GPUs");
  CHECK(near_note(near, "0-1") ==
        "NUMA: not next to the GPUs: other hosts have reserved the CPUs of node 1");
  CHECK(near_note({}, "").empty());
}

}  // namespace
}  // namespace muster::steward
