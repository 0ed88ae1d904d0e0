#include "os/devices/gpu.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

CdiDevice device(const std::string& name, const std::vector<std::string>& files) {
  CdiDevice made{name, {}};
  for (const std::string& file : files) made.edits.nodes.push_back({file, file});
  return made;
}

std::vector<std::string> names_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("gpus: each card counts once, by number, whatever names the files have for it") {
  const CdiFile nvidia{"nvidia.com/gpu",
                       {},
                       {device("GPU-aaaa", {"/dev/nvidia10"}), device("10", {"/dev/nvidia10"}),
                        device("2", {"/dev/nvidia2"}), device("GPU-bbbb", {"/dev/nvidia2"}),
                        device("all", {"/dev/nvidia10", "/dev/nvidia2"})}};
  CHECK(names_of(*gpus_in({{"/etc/cdi/a.yaml", 1, nvidia}})) ==
        Names{"nvidia.com/gpu=2", "nvidia.com/gpu=10"});
  const CdiFile one{"nvidia.com/gpu", {}, {device("all", {"/dev/dxg"})}};
  CHECK(names_of(*gpus_in({{"/etc/cdi/a.yaml", 1, one}})) == Names{"nvidia.com/gpu=all"});
}

TEST_CASE("gpus: parts of a card are separate GPUs") {
  const CdiFile parts{"nvidia.com/gpu",
                      {},
                      {device("0:0", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12"}),
                       device("0:1", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap21"}),
                       device("all", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12",
                                      "/dev/nvidia-caps/nvidia-cap21"})}};
  CHECK(names_of(*gpus_in({{"a", 1, parts}})) == Names{"nvidia.com/gpu=0:0", "nvidia.com/gpu=0:1"});
}

TEST_CASE("gpus: a later folder's device wins, and in one folder two files may not share a name") {
  const CdiFile old{"a.b/gpu", {}, {device("0", {"/dev/old"}), device("1", {"/dev/one"})}};
  const CdiFile fresh{"a.b/gpu", {}, {device("0", {"/dev/new"})}};
  const Result<std::vector<Gpu>> gpus =
      gpus_in({{"/etc/cdi/a.json", 1, old}, {"/var/run/cdi/a.json", 2, fresh}});
  REQUIRE(gpus);
  CHECK(gpus->at(0).files() == Names{"/dev/new"});
  CHECK(gpus->at(1).files() == Names{"/dev/one"});
  const auto twice = gpus_in({{"/etc/cdi/a.json", 1, old}, {"/etc/cdi/b.json", 1, fresh}});
  REQUIRE(!twice);
  CHECK(twice.error().text ==
        "/etc/cdi/b.json: a.b/gpu=0 is also in /etc/cdi/a.json; define each device in only one "
        "file per folder");
}

TEST_CASE("gpus: without files NVIDIA's plain device files count") {
  const std::vector<Gpu> gpus = plain_gpus(
      {"null", "nvidia-uvm", "nvidia0", "nvidia1", "nvidia12x", "nvidiactl", "nvidia"}, "/dev");
  CHECK(names_of(gpus) == Names{"/dev/nvidia0", "/dev/nvidia1"});
  CHECK(gpus[1].number() == 1);
  const Result<job::HostDevices> devices = given(gpus);
  REQUIRE(devices);
  Names nodes;
  for (const job::DeviceNode& node : devices->nodes) nodes.push_back(node.inside);
  CHECK(nodes == Names{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1"});
  CHECK(plain_gpus({"null", "nvidiactl"}, "/dev").empty());
}

TEST_CASE("gpus: two that want different devices at one place do not go together") {
  const Gpu a{"a.b/gpu=0", "a.b/gpu", {.nodes = {{"/x/0", "/dev/gpu"}}}, {}};
  const Gpu b{"a.b/gpu=1", "a.b/gpu", {.nodes = {{"/x/1", "/dev/gpu"}}}, {}};
  CHECK(given({a, b}).error().text ==
        "/x/0 and /x/1 would both be mapped to /dev/gpu in the same host");
}

TEST_CASE("gpus: the driver's libraries stand in the loader's cache") {
  const auto libraries = driver_libraries(
      "2 libs found in cache `/etc/ld.so.cache'\n"
      "\tlibnvidia-ml.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnvidia-ml.so.1\n"
      "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1\n"
      "\tlibcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1\n"
      "\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib/libcudart.so.12\n"
      "\tlibc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6\n");
  REQUIRE(libraries.size() == 2);
  CHECK(libraries[0].first == "libnvidia-ml.so.1");
  CHECK(libraries[1].second == "/lib/x86_64-linux-gnu/libcuda.so.1");
  CHECK(driver_libraries("").empty());
}

TEST_CASE("gpus: numbers are the vendor's, else those of device files") {
  const CdiFile odd{
      "nvidia.com/gpu", {}, {device("0", {"/dev/nvidia1"}), device("1", {"/dev/nvidia0"})}};
  const std::vector<Gpu> gpus = *gpus_in({{"/etc/cdi/a.yaml", 1, odd}});
  CHECK(names_of(*numbered(gpus, {1})) == Names{"nvidia.com/gpu=1"});
  CHECK(names_of(*numbered(gpus, {1, 0})) == Names{"nvidia.com/gpu=1", "nvidia.com/gpu=0"});
  CHECK(numbered(gpus, {2}).error().text ==
        "GPU 2: found neither in a CDI file nor as a device file");
  const CdiFile named{"nvidia.com/gpu", {}, {device("GPU-aaaa", {"/dev/nvidia1"})}};
  CHECK(names_of(*numbered(*gpus_in({{"/etc/cdi/a.yaml", 1, named}}), {1})) ==
        Names{"nvidia.com/gpu=GPU-aaaa"});
  const CdiFile amd{"amd.com/gpu", {}, {device("3", {"/dev/dri/renderD128", "/dev/kfd"})}};
  CHECK(names_of(*numbered(*gpus_in({{"/etc/cdi/a.yaml", 1, amd}}), {3})) ==
        Names{"amd.com/gpu=3"});
  const CdiFile parts{"nvidia.com/gpu",
                      {},
                      {device("0:0", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12"}),
                       device("0:1", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap21"})}};
  CHECK(numbered(*gpus_in({{"/etc/cdi/a.yaml", 1, parts}}), {0}).error().text ==
        "GPU 0 is split into several parts, so its number does not identify a single part");
}

}  // namespace
}  // namespace muster::devices
