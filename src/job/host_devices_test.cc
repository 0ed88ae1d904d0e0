#include "job/host_devices.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

HostDevices two_gpus() {
  return {
      .gpus = {"nvidia.com/gpu=0", "nvidia.com/gpu=1"},
      .nodes = {{"/dev/nvidia0", "/dev/nvidia0", 195, 0}, {"/tmp/gpus/1", "/dev/nvidia1", 195, 1}},
      .mounts = {{"/usr/lib/libcuda.so.1", "/run/muster/gpu/lib/libcuda.so.1", true},
                 {"/etc/vulkan", "/etc/vulkan"}},
      .environment = {{"NVIDIA_VISIBLE_DEVICES", "void"}},
      .locks_memory = true};
}

TEST_CASE("host devices: they reach a steward as they were") {
  const HostDevices devices = two_gpus();
  REQUIRE(check(devices));
  CHECK(*host_devices_from(to_json(devices)) == devices);
  CHECK(*host_devices_from(to_json(HostDevices{})) == HostDevices{});
}

TEST_CASE(
    "host devices: paths that would cover muster's, the kernel's or every host's are refused") {
  struct {
    const char* name;
    DeviceNode node;
    DeviceMount mount;
    bool good;
  } const cases[] = {
      {"device", {"/dev/nvidia0", "/dev/nvidia0"}, {}, true},
      {"in a folder", {"/dev/dri/card0", "/dev/dri/card0"}, {}, true},
      {"named like a host's own", {"/dev/nullx", "/dev/nullx"}, {}, true},
      {"outside of /dev", {"/dev/nvidia0", "/etc/passwd"}, {}, false},
      {"/dev itself", {"/dev/nvidia0", "/dev"}, {}, false},
      {"a host's own", {"/dev/nvidia0", "/dev/null"}, {}, false},
      {"below a host's own", {"/dev/nvidia0", "/dev/shm/x"}, {}, false},
      {"way out", {"/dev/nvidia0", "/dev/../etc/x"}, {}, false},
      {"relative", {"dev/nvidia0", "/dev/nvidia0"}, {}, false},
      {"library", {}, {"/usr/lib/libcuda.so", "/usr/lib/libcuda.so"}, true},
      {"library in muster's place", {}, {"/usr/lib/x.so", "/run/muster/gpu/lib/x.so"}, true},
      {"muster's programs", {}, {"/usr/bin/x", "/run/muster/bin/sm"}, false},
      {"the job's files", {}, {"/usr/bin/x", "/opt/ml/model"}, false},
      {"the kernel's", {}, {"/x/params", "/proc/driver/nvidia/params"}, false},
      {"root", {}, {"/x", "/"}, false},
      {"way up", {}, {"/x", "/usr/../proc"}, false},
      {"relative source", {}, {"x", "/usr/lib/x"}, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    HostDevices devices;
    if (!c.node.outside.empty()) devices.nodes = {c.node};
    if (!c.mount.outside.empty()) devices.mounts = {c.mount};
    const Result<void> got = check(devices);
    CHECK(got.has_value() == c.good);
    if (!got) CHECK(got.error().code == Errc::invalid_input);
  }
  CHECK(!check(HostDevices{.environment = {{"", "x"}}}));
  CHECK(!check(HostDevices{.environment = {{"A=B", "x"}}}));
}

TEST_CASE("host devices: a message that is damaged is refused by the field") {
  Json json = to_json(two_gpus());
  json["nodes"][0]["major"] = "195";
  CHECK(host_devices_from(json).error().text == "devices.nodes.major: expected an integer");
  json = to_json(two_gpus());
  json["more"] = 1;
  CHECK(!host_devices_from(json));
}

}  // namespace
}  // namespace muster::job
