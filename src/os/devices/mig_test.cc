#include "os/devices/mig.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "os/devices/find.h"

namespace muster::devices {
namespace {

// In the form of NVIDIA's MIG user guide: no card in parts was at hand.
constexpr const char* list =
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
    "  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)\n"
    "  MIG 1c.3g.20gb  Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)\n"
    "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-d33d-2b2c-524d-9e3d8d2b8a77)\n"
    "  MIG 7g.40gb     Device  0: (UUID: MIG-GPU-00000000-d33d-2b2c/0/0)\n";
constexpr const char* table =
    "+-----------------------------------------------------------------------------+\n"
    "|   0  A100-SXM4-40GB      Off  | 00000000:36:00.0 Off |                   On |\n"
    "+-----------------------------------------------------------------------------+\n"
    "| MIG devices:                                                                |\n"
    "+------------------+----------------------+-----------+-----------------------+\n"
    "| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |\n"
    "|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|\n"
    "|==================+======================+===========+=======================|\n"
    "|  0    1   0   0  |     11MiB / 20096MiB | 42      0 |  3   0    2    0    0 |\n"
    "|                  |      0MiB / 32767MiB |           |                       |\n"
    "+------------------+----------------------+-----------+-----------------------+\n"
    "|  0    2   3   1  |     11MiB / 20096MiB | 42      0 |  3   0    2    0    0 |\n"
    "+-----------------------------------------------------------------------------+\n"
    "| Processes:                                                                  |\n"
    "|  1    9   9   0  | a process whose name has line ends                       |\n";

TEST_CASE("mig: the tool's names for parts are read") {
  const std::vector<MigName> names = mig_names_in(list, table);
  CHECK(names ==
        std::vector<MigName>{{0, 0, "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", 1, 0},
                             {0, 1, "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb", 2, 3},
                             {1, 0, "MIG-GPU-00000000-d33d-2b2c/0/0", std::nullopt, std::nullopt}});
  for (const char* text :
       {"", "No devices were found\n", "  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n",
        "GPU x: a (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n",
        "GPU 0: a (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: GPU-1)\n",
        "GPU 0: a (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1,MIG-2)\n",
        "GPU 0: a (UUID: GPU-1)\n  MIG 3g.20gb     Device  x: (UUID: MIG-1)\n",
        "GPU 0: a (UUID: GPU-1)\n  MIG Device  0: MIG-1\n"}) {
    CAPTURE(text);
    CHECK(mig_names_in(text, table).empty());
  }
}

/// A machine with a whole card and one in two parts.
struct Machine {
  std::string path = *make_private_folder("/tmp", "muster-mig-");
  Places places{.cdi = {},
                .dev = path + "/dev",
                .driver = path + "/gpus",
                .capabilities = path + "/capabilities"};
  Machine() {
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl"}) node(name, 0666);
    instance("gpu1/mig/gi1", 21);
    instance("gpu1/mig/gi1/ci0", 22);
    instance("gpu1/mig/gi2", 30);
    instance("gpu1/mig/gi2/ci3", 34);
    instance("gpu1/mig/gi5", 48);  // Without a compute instance nothing can use it.
    REQUIRE(make_folders(places.capabilities + "/mig"));
    for (const auto& [bus, number] :
         {std::pair("0000:36:00.0", "1"), std::pair("0000:3b:00.0", "0")}) {
      REQUIRE(make_folders(places.driver + "/" + bus));
      REQUIRE(write_file(places.driver + "/" + bus + "/information",
                         std::string("Bus Location: \t ") + bus + "\nDevice Minor: \t " + number));
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { static_cast<void>(remove_tree(path)); }

  void instance(const std::string& name, int minor) const {
    REQUIRE(make_folders(places.capabilities + "/" + name));
    REQUIRE(write_file(places.capabilities + "/" + name + "/access",
                       "DeviceFileMinor: " + std::to_string(minor) +
                           "\nDeviceFileMode: 292\nDeviceFileModify: 1\n"));
    node("nvidia-caps/nvidia-cap" + std::to_string(minor), 0444);
  }
  void node(const std::string& name, mode_t mode) const {
    const std::string file = places.dev + "/" + name;
    REQUIRE(make_folders(file.substr(0, file.rfind('/'))));
    if (::mknod(file.c_str(), S_IFCHR | mode, ::makedev(1, 3)) != 0) return;
    REQUIRE(::chmod(file.c_str(), mode) == 0);
  }
};

TEST_CASE("mig: without a CDI file the driver's capabilities say which parts there are") {
  const Machine machine;
  CHECK(read_mig(machine.places.capabilities) ==
        std::vector<MigPart>{{1, 1, 0, 21, 22}, {1, 2, 3, 30, 34}});
  CHECK(read_mig(machine.path + "/none").empty());
  std::vector<Gpu> gpus = *find_gpus(machine.places);
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].name == "/dev/nvidia0");
  CHECK(!is_part(gpus[0]));
  CHECK(gpus[1].name == "/dev/nvidia1:gi1:ci0");
  CHECK(is_part(gpus[1]));
  CHECK(!gpus[1].number());
  const std::string caps = machine.places.dev + "/nvidia-caps/nvidia-cap";
  CHECK(gpus[2].files() ==
        std::vector<std::string>{caps + "30", caps + "34", machine.places.dev + "/nvidia1"});
  // The tool counts by place on the bus: nvidia1 is its card 0.
  set_uuids(gpus, mig_names_in(list, table), in_order_of_bus(gpu_places(machine.places.driver)));
  CHECK(gpus[0].uuid.empty());
  CHECK(gpus[1].uuid == "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f");
  CHECK(gpus[2].uuid == "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb");
  const Result<job::HostDevices> parts = given({gpus[1], gpus[2]});
  REQUIRE(parts);
  std::vector<std::string> inside;
  for (const job::DeviceNode& node : parts->nodes) inside.push_back(node.inside);
  CHECK(inside ==
        std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap21",
                                 "/dev/nvidia-caps/nvidia-cap22", "/dev/nvidia-caps/nvidia-cap30",
                                 "/dev/nvidia-caps/nvidia-cap34"});
  const std::string both = gpus[1].uuid + "," + gpus[2].uuid;
  CHECK(parts->environment ==
        Env{{"CUDA_VISIBLE_DEVICES", both}, {"NVIDIA_VISIBLE_DEVICES", both}});
  CHECK(given({gpus[0], gpus[1]})->environment.empty());  // CUDA uses either.
  CHECK(closed_nodes(*parts).empty());                    // Capabilities are only read.
}

TEST_CASE("mig: in CDI files parts have the tool's numbers, or their UUIDs as further names") {
  const auto part = [](const std::string& name, const std::string& capability) {
    return CdiDevice{
        name,
        {.nodes = {{"/dev/nvidia0", "/dev/nvidia0"},
                   {"/dev/nvidia-caps/" + capability, "/dev/nvidia-caps/" + capability}}}};
  };
  const CdiFile file{
      "nvidia.com/gpu",
      {},
      {part("0:0", "nvidia-cap21"), part("0:1", "nvidia-cap30"), part("MIG-bbb", "nvidia-cap30")}};
  std::vector<Gpu> gpus = *gpus_in({{"/etc/cdi/a.yaml", 1, file}});
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].uuid.empty());
  CHECK(gpus[1].name == "nvidia.com/gpu=0:1");
  CHECK(gpus[1].uuid == "MIG-bbb");
  set_uuids(gpus, mig_names_in(list, ""), {});
  CHECK(gpus[0].uuid == "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f");
  CHECK(gpus[1].uuid == "MIG-bbb");
}

}  // namespace
}  // namespace muster::devices
