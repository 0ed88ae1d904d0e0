#include "os/devices/gpu_figures.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

TEST_CASE("gpu figures: a line of the driver's tool, and malformed lines") {
  CHECK(figures_from("1, 00000000:0B:00.0, 35, 1234") ==
        GpuFigures{1, ":0b:00.0", 35, std::int64_t{1234} << 20});
  for (const char* line :
       {"", "1, 00000000:0B:00.0, [N/A], 1234", "1, 00000000:0B:00.0, 35", "x, b, 1, 1",
        "1, b, 101, 1", "-1, b, 1, 1", "1, b, 1, 99999999999999999999", "1, b, 1, 2, 3",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."}) {
    CAPTURE(line);
    CHECK(!figures_from(line));
  }
}

TEST_CASE("gpu figures: a whole line of an H100, and of a card that reports little") {
  const GpuFigures busy{0,
                        ":00:06.0",
                        97,
                        std::int64_t{2566} << 20,
                        {std::int64_t{81559} << 20, 86, 32, 1980, 2619, 0x4}};
  CHECK(figures_from("0, 00000000:00:06.0, 97, 2566, 81559, 86.82, 32, 1980, 2619, "
                     "0x0000000000000004") == busy);
  const GpuFigures little{0, ":00:06.0", 97, std::int64_t{2566} << 20, {}};
  CHECK(figures_from("0, 00000000:00:06.0, 97, 2566, [N/A], [Not Supported], N/A, -1, "
                     "99999999999, 4") == little);
  CHECK(figures_from("0, 00000000:00:06.0, 97, 2566, [N/A], , x.5, , , 0xffffffffffffffffff") ==
        little);
  CHECK(!figures_from("0, b, 97, 2566, 1, 1, 1, 1, 1"));
  CHECK(!figures_from("0, b, 97, 2566, 1, 1, 1, 1, 1, 0x4, 1"));
  CHECK(figures_command(true)[1].starts_with(figures_command(false)[1] + ","));
}

TEST_CASE("gpu figures: traffic stands in the columns that the head names") {
  constexpr std::int64_t mib = 1 << 20;
  TrafficReader reader;
  CHECK(!reader.take("    0      5      3"));  // No head yet.
  // As an H100's driver (580.159.04) writes the heads.
  CHECK(!reader.take("# gpu  rxpci  txpci      nvlrx      nvltx "));
  CHECK(!reader.take("# Idx   MB/s   MB/s  GPM:MiB/s  GPM:MiB/s "));
  CHECK(reader.take("    1  53341   4119      12.75          0 ") ==
        std::pair(1, job::GpuTraffic{53'341'000'000, 4'119'000'000, 12 * mib, 0}));
  CHECK(reader.take("    0      0      -      -      -") ==
        std::pair(0, job::GpuTraffic{.pcie_in = 0}));
  // With all columns.
  CHECK(
      !reader.take("# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   "
                   "pclk  pviol  tviol     fb   bar1   ccpm  sbecc  dbecc    pci  rxpci  txpci "));
  CHECK(
      reader.take("    0     71     32     34      0      0      0      0      0      0   2619    "
                  "345      0      0      0      1      0      0      0      0      0      1 ") ==
      std::pair(0, job::GpuTraffic{.pcie_in = 0, .pcie_out = 1'000'000}));
  CHECK(!reader.take("# gpu  other"));
  CHECK(reader.take("    0      7") == std::pair(0, job::GpuTraffic{}));
  for (const char* line : {"", "#", "x 1", "-1 1", "0", "0 1 2", "No devices were found"}) {
    CAPTURE(line);
    CHECK(!reader.take(line));
  }
  std::string long_head = "# gpu";
  for (int i = 0; i < 100; ++i) long_head += " rxpci";
  CHECK(!reader.take(long_head));
  CHECK(reader.take("    0      7"));  // The head before it counts.
  CHECK(traffic_command(true).size() > traffic_command(false).size());
}

TEST_CASE("gpu figures: a card has one place however it is written") {
  CHECK(bus_name("00000000:0B:00.0") == bus_name(" 0000:0b:00.0"));
  CHECK(bus_name("00000001:0B:00.0") != bus_name("0000:0b:00.0"));
  CHECK(bus_name("000") == "");
  const char* const told =
      "Model: \t\t NVIDIA H100\nIRQ:   \t\t 16\nGPU UUID: \t GPU-1-2\n"
      "Bus Type: \t PCIe\nBus Location: \t 0000:0b:00.0\nDevice Minor: \t 3\n";
  CHECK(gpu_place_from(told) == std::pair<std::string, int>(":0b:00.0", 3));
  CHECK(!gpu_place_from("Bus Location: 0000:0b:00.0\n"));
  CHECK(!gpu_place_from(""));
}

TEST_CASE("gpu figures: device files have numbers, those of the driver itself none") {
  CHECK(gpu_number("/dev/nvidia12") == 12);
  CHECK(gpu_number("nvidia0") == 0);
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia", "/dev/nvidia1x",
                           "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia999999999999", "", "/"}) {
    CAPTURE(path);
    CHECK(!gpu_number(path));
  }
}

TEST_CASE("gpu figures: the scheduler's GPUs are parsed as numbers, or not at all") {
  CHECK(gpu_numbers("0,3") == std::vector<int>{0, 3});
  for (const char* visible : {"", "NoDevFiles", "GPU-8932f937-d72c", "0,MIG-1", "-1", "0,,1"}) {
    CAPTURE(visible);
    CHECK(gpu_numbers(visible).empty());
  }
}

}  // namespace
}  // namespace muster::devices
