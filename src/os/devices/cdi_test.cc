#include "os/devices/cdi.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

/// As nvidia-ctk 1.14 writes it, shortened.
constexpr const char* nvidia_yaml = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  - path: /dev/nvidia-uvm
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-ctk
    - hook
    - update-ldcache
    - --folder
    - /usr/lib/x86_64-linux-gnu
    hookName: createContainer
    path: /usr/bin/nvidia-ctk
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03
    options: [ro, nosuid, nodev, bind]
  - containerPath: /run/nvidia-persistenced/socket
    hostPath: /run/nvidia-persistenced/socket
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: /dev/nvidia0
      major: 195
      fileMode: 438
      permissions: rw
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
)";

TEST_CASE("cdi: a file of NVIDIA's tool") {
  const Result<CdiFile> file = read_cdi("/etc/cdi/nvidia.yaml", nvidia_yaml);
  REQUIRE_MESSAGE(file, (file ? "" : file.error().text));
  CHECK(file->kind == "nvidia.com/gpu");
  CHECK(file->edits.nodes == std::vector<Edits::Node>{{"/dev/nvidiactl", "/dev/nvidiactl"},
                                                      {"/dev/nvidia-uvm", "/dev/nvidia-uvm"}});
  CHECK(file->edits.environment == Env{{"NVIDIA_VISIBLE_DEVICES", "void"}});
  REQUIRE(file->edits.mounts.size() == 2);
  CHECK(file->edits.mounts[0].image_only);  // Other hosts see the machine's /usr.
  CHECK(!file->edits.mounts[1].image_only);
  REQUIRE(file->devices.size() == 2);
  CHECK(file->devices[0].name == "0");
  CHECK(file->devices[0].edits.nodes == std::vector<Edits::Node>{{"/dev/nvidia0", "/dev/nvidia0"}});
}

TEST_CASE("cdi: JSON, and a device that lies elsewhere on the machine") {
  const Result<CdiFile> file = read_cdi("x.json", R"({"cdiVersion": "0.8.0", "kind": "a.b/gpu",
    "devices": [{"name": "g-1", "containerEdits": {"deviceNodes": [
      {"path": "/dev/gpu1", "hostPath": "/srv/dev/1", "type": "c", "permissions": "rwm"}],
      "intelRdt": {"closID": "x"}, "additionalGids": [44]}}]})");
  REQUIRE_MESSAGE(file, (file ? "" : file.error().text));
  CHECK(file->devices[0].edits.nodes == std::vector<Edits::Node>{{"/srv/dev/1", "/dev/gpu1"}});
}

TEST_CASE("cdi: files of other devices are passed over, whatever they want") {
  const Result<CdiFile> file = read_cdi("x.json", R"({"cdiVersion": "0.6.0", "kind": "a.b/disk",
    "devices": [{"name": "d", "containerEdits":
      {"deviceNodes": [{"path": "/dev/sda", "type": "b"}]}}]})");
  REQUIRE(file);
  CHECK(file->devices.empty());
  CHECK(!is_gpu_kind("a.b/gpus"));
  CHECK(is_gpu_kind("amd.com/gpu"));
}

std::string with(const std::string& edits) {
  return R"({"cdiVersion": "0.6.0", "kind": "a.b/gpu", "devices":
    [{"name": "0", "containerEdits": )" +
         edits + "}]}";
}

TEST_CASE("cdi: an invalid file, or one that asks too much, is one line that says where") {
  const std::string edits = "devices[0].containerEdits";
  struct {
    const char* name;
    std::string text;
    std::string want;
  } const cases[] = {
      {"no JSON", "{", "not JSON at line 1, column 2"},
      {"list", "[]", "the CDI file: expected an object"},
      {"version", R"({"cdiVersion": "2.0.0"})",
       "cdiVersion: expected a string with a version from 0.3.0 to 1.1.0, got \"2.0.0\""},
      {"version as a number", R"({"cdiVersion": 0.5})", "cdiVersion: expected text"},
      {"kind", R"({"cdiVersion": "0.6.0", "kind": "gpu"})", "kind: expected VENDOR/CLASS"},
      {"devices", R"({"cdiVersion": "0.6.0", "kind": "a/gpu", "devices": {}})",
       "devices: expected a list"},
      {"device's name",
       R"({"cdiVersion": "0.6.0", "kind": "a/gpu", "devices": [{"name": "../x"}]})",
       "devices[0].name: expected letters"},
      {"twice",
       R"({"cdiVersion": "0.6.0", "kind": "a/gpu",
            "devices": [{"name": "0"}, {"name": "0"}]})",
       "devices[1].name: expected unique names"},
      {"block device", with(R"({"deviceNodes": [{"path": "/dev/sda", "type": "b"}]})"),
       edits + ".deviceNodes[0].type: expected c (hosts can only have character devices)"},
      {"read only", with(R"({"deviceNodes": [{"path": "/dev/x", "permissions": "r"}]})"),
       edits + ".deviceNodes[0].permissions: expected rw or rwm"},
      {"outside of /dev", with(R"({"deviceNodes": [{"path": "/etc/x"}]})"),
       edits + ": devices.nodes.inside: expected a path below /dev"},
      {"no path", with(R"({"deviceNodes": [{}]})"), edits + ": devices.nodes.outside: expected"},
      {"mount over /proc", with(R"({"mounts": [{"hostPath": "/x", "containerPath": "/proc/x"}]})"),
       edits + ": devices.mounts.inside: expected"},
      {"new file system",
       with(R"({"mounts": [{"hostPath": "t", "containerPath": "/x", "type": "tmpfs"}]})"),
       edits + ".mounts[0].type: expected bind, got \"tmpfs\""},
      {"variable", with(R"({"env": ["A"]})"), edits + ".env[0]: expected NAME=VALUE, got \"A\""},
      {"network", with(R"({"netDevices": [{"hostInterfaceName": "eth0"}]})"),
       edits + ".netDevices: expected no entries"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<CdiFile> got = read_cdi("x.json", c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.starts_with(c.want), got.error().text);
  }
  CHECK(read_cdi("x.yaml", "kind: [").error().text.starts_with("line 2: not YAML"));
}

}  // namespace
}  // namespace muster::devices
