#include "os/devices/links.h"

#include <doctest/doctest.h>

#include "base/fd.h"

namespace muster::devices {
namespace {

using Texts = std::vector<std::string>;
using Remarks = std::map<int, Texts>;

/// A card with these links, as `nvidia-smi nvlink --status` prints it.
std::string card(int number, const Texts& links) {
  std::string text = "GPU " + std::to_string(number) + ": NVIDIA A100-SXM4-40GB (UUID: GPU-1-2)\n";
  for (std::size_t i = 0; i < links.size(); ++i)
    text += "\t Link " + std::to_string(i) + ": " + links[i] + "\n";
  return text;
}

TEST_CASE("links: NVLinks that are down or slow are counted") {
  const std::string full = "25 GB/s";
  const std::string slow = "12.5 GB/s";
  const std::string down = "<inactive>";
  struct {
    const char* name;
    std::string text;
    Remarks want;
  } const cases[] = {
      {"all are up", card(0, {full, full}) + card(1, {full, full}), {}},
      {"one is down",
       card(0, {full, full}) + card(1, {down, full}),
       {{1, {"1 of 2 NVLinks is down"}}}},
      {"some are down", card(4, {down, full, down}), {{4, {"2 of 3 NVLinks are down"}}}},
      {"one is slow",
       card(0, {full, slow}) + card(1, {full, full}),
       {{0, {"1 of 2 NVLinks is slower than 25 GB/s"}}}},
      {"down and slow",
       card(0, {full, slow, down, slow}),
       {{0, {"1 of 4 NVLinks is down", "2 of 4 NVLinks are slower than 25 GB/s"}}}},
      {"not connected", card(0, {down, down}) + card(1, {full, full}), {}},
      {"no NVLink", "GPU 0: NVIDIA L4 (UUID: GPU-1-2)\n\t (Not supported)\n", {}},
      {"nothing", "", {}},
      {"garbage",
       "Link 0: 5 GB/s\nGPU x: y\nLink 1: <inactive>\nGPU 99999: z\nLink 2: 1 GB/s\n",
       {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(nvlink_remarks(c.text) == c.want);
  }
}

std::vector<RdmaPort> ports() {
  std::vector<RdmaPort> all;
  for (const char* name : {"mlx5_0/1", "mlx5_1/1", "mlx5_2/1"})
    all.push_back({name, "InfiniBand MT_0838", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"});
  all.push_back({"mlx5_3/1", "Ethernet MT_0359", "4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)"});
  return all;
}

TEST_CASE("links: ports of adapters that are down, or slower than others of their model") {
  struct {
    const char* name;
    void (*spoil)(std::vector<RdmaPort>&);
    Texts want;
    const char* summary;
  } const cases[] = {
      {"all are up", [](auto&) {}, {}, "1 x 100 Gb/sec (4X EDR) + 3 x 400 Gb/sec (4X NDR)"},
      {"no cable",
       [](auto& p) { p[1].state = "1: DOWN", p[1].physical = "2: Polling"; },
       {"mlx5_1/1 is down (Polling)"},
       "1 x 100 Gb/sec (4X EDR) + 2 x 400 Gb/sec (4X NDR)"},
      {"no subnet manager",
       [](auto& p) { p[1].state = "2: INIT"; },
       {"mlx5_1/1 is down (LinkUp)"},
       "1 x 100 Gb/sec (4X EDR) + 2 x 400 Gb/sec (4X NDR)"},
      {"disabled",
       [](auto& p) { p[3].state = "1: DOWN", p[3].physical = "3: Disabled"; },
       {},
       "3 x 400 Gb/sec (4X NDR)"},
      {"slow",
       [](auto& p) { p[2].rate = "200 Gb/sec (2X NDR)"; },
       {"mlx5_2/1 runs at 200 Gb/sec (2X NDR), others at 400 Gb/sec (4X NDR)"},
       "1 x 100 Gb/sec (4X EDR) + 1 x 200 Gb/sec (2X NDR) + 2 x 400 Gb/sec (4X NDR)"},
      {"no usual rate",
       [](auto& p) { p[1].rate = "100 Gb/sec", p[2].rate = "200 Gb/sec"; },
       {},
       "1 x 100 Gb/sec + 1 x 100 Gb/sec (4X EDR) + 1 x 200 Gb/sec + 1 x 400 Gb/sec (4X NDR)"},
      {"none", [](auto& p) { p.clear(); }, {}, ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    std::vector<RdmaPort> all = ports();
    c.spoil(all);
    CHECK(rdma_remarks(all) == c.want);
    CHECK(rdma_summary(all) == c.summary);
  }
}

TEST_CASE("links: GPUs and adapters exchange data directly with peermem or DMA-BUF") {
  // As an H100's driver (580.159.04) has it in /proc/driver/nvidia/version.
  const std::string open =
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build    \n"
      "GCC version:  gcc version 15.3.0 (GCC) \n";
  const std::string closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  x\n";
  const std::string old = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  470.1  x\n";
  CHECK(direct_access_trouble(false, open, "6.18.2").empty());
  CHECK(direct_access_trouble(false, open, "5.12.0-1-amd64").empty());
  CHECK(direct_access_trouble(true, closed, "4.18.0").empty());
  CHECK(direct_access_trouble(false, "", "6.1.0").empty());  // No driver.
  for (const std::string& driver : {closed, old})
    CHECK(direct_access_trouble(false, driver, "6.1.0").find("nvidia_peermem") !=
          std::string::npos);
  for (const char* kernel : {"5.11.9", "4.18.0", "", "x.y"})
    CHECK(!direct_access_trouble(false, open, kernel).empty());
}

TEST_CASE("links: the version of the driver's library") {
  CHECK(cuda_library_version(
            {"libc.so.6", "libcuda.so", "libcuda.so.1", "libcuda.so.580.159.04"}) == "580.159.04");
  CHECK(cuda_library_version({"libcuda.so.1", "libcudart.so.12.4.1", "libcuda.so.5.x"}).empty());
}

}  // namespace
}  // namespace muster::devices
