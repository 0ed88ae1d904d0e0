#include "os/devices/find.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::devices {
namespace {

std::string file_of(const std::string& node) {
  return R"({"cdiVersion": "0.6.0", "kind": "a.b/gpu", "devices": [{"name": "0",
    "containerEdits": {"deviceNodes": [{"path": "/dev/gpu0", "hostPath": ")" +
         node + R"("}]}}]})";
}

/// A folder of one test, root's.
struct Place {
  std::string path = *make_private_folder("/tmp", "muster-devices-");
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { static_cast<void>(remove_tree(path)); }
};

TEST_CASE("places: the specification's folders, or those that the program's environment names") {
  using Folders = std::vector<std::string>;
  CHECK(places_of({}).cdi == Folders{"/etc/cdi", "/var/run/cdi"});
  CHECK(places_of({{"MUSTER_CDI_FOLDERS", "/a:/b:"}}).cdi == Folders{"/a", "/b"});
  CHECK(!places_of({{"MUSTER_SICK_GPUS", ""}}).gives_sick);
  CHECK(places_of({{"MUSTER_SICK_GPUS", "use"}}).gives_sick);
}

TEST_CASE("find: CDI files count before plain device files") {
  const Place place;
  REQUIRE(make_folders(place.path + "/dev"));
  REQUIRE(write_file(place.path + "/dev/nvidia0", ""));
  const Places both{.cdi = {place.path + "/none", place.path}, .dev = place.path + "/dev"};
  CHECK(find_gpus(both)->at(0).own.nodes[0].outside == place.path + "/dev/nvidia0");
  REQUIRE(write_file(place.path + "/a.json", file_of("/dev/null"), 0644));
  REQUIRE(write_file(place.path + "/notes.txt", "no CDI file", 0644));
  const Result<std::vector<Gpu>> gpus = find_gpus(both);
  REQUIRE_MESSAGE(gpus, (gpus ? "" : gpus.error().text));
  REQUIRE(gpus->size() == 1);
  CHECK(gpus->at(0).name == "a.b/gpu=0");
  REQUIRE(write_file(place.path + "/b.yaml", "kind: [", 0644));
  CHECK(find_gpus(both).error().text.starts_with(place.path + "/b.yaml: line 2: not YAML"));
}

TEST_CASE("find: a file or folder that others may change is not believed") {
  if (::geteuid() != 0) return;
  const Place place;
  const Places places{.cdi = {place.path}, .dev = place.path + "/none"};
  const std::string file = place.path + "/a.json";
  REQUIRE(write_file(file, file_of("/dev/null"), 0644));
  REQUIRE(find_gpus(places));
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    CAPTURE(mode);
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    const Result<std::vector<Gpu>> gpus = find_gpus(places);
    REQUIRE(!gpus);
    CHECK(gpus.error().code == Errc::denied);
    CHECK(gpus.error().text.starts_with(file + ": must be owned by root"));
  }
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chown(file.c_str(), 1000, 0) == 0);
  CHECK(find_gpus(places).error().code == Errc::denied);
  REQUIRE(::chown(file.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(place.path.c_str(), 0777) == 0);
  CHECK(find_gpus(places).error().text.starts_with(place.path + ": must be owned by root"));
}

TEST_CASE("find: in an ordinary user's namespace the machine's root is the overflow user") {
  CHECK(!places_of({}).rootless);
  CHECK(places_of({{"MUSTER_ROOTLESS", "65536"}}).rootless);
  if (::geteuid() != 0) return;
  const Place place;
  const std::string file = place.path + "/a.json";
  REQUIRE(write_file(file, file_of("/dev/null"), 0644));
  for (const std::string& path : {file, place.path}) REQUIRE(::chown(path.c_str(), 65534, 0) == 0);
  Places places{.cdi = {place.path}, .dev = place.path + "/none"};
  CHECK(find_gpus(places).error().code == Errc::denied);
  places.rootless = true;
  CHECK(find_gpus(places));
  REQUIRE(::chmod(file.c_str(), 0646) == 0);
  CHECK(find_gpus(places).error().code == Errc::denied);
}

TEST_CASE("find: a scheduler's numbers are places on the bus, not those of device files") {
  const Place place;
  const Places places{.cdi = {}, .dev = place.path + "/dev", .driver = place.path + "/driver"};
  REQUIRE(make_folders(places.dev));
  const auto card = [&](const std::string& bus, const std::string& minor) {
    REQUIRE(write_file(places.dev + "/nvidia" + minor, ""));
    REQUIRE(make_folders(places.driver + "/" + bus));
    REQUIRE(write_file(places.driver + "/" + bus + "/information",
                       "Bus Location: \t " + bus + "\nDevice Minor: \t " + minor + "\n"));
  };
  card("0001:0b:00.0", "0");
  card("0000:8b:00.0", "1");
  card("0000:0b:00.0", "2");
  const auto files = [&](const std::vector<int>& numbers) {
    std::string text;
    const Result<std::vector<Gpu>> given = find_given(places, numbers);
    REQUIRE(given);
    for (const Gpu& gpu : *given) text += gpu.files().front().back();
    return text;
  };
  CHECK(files({0, 1, 2}) == "210");
  CHECK(files({2}) == "0");
  CHECK(find_given(places, {3}).error().code == Errc::invalid_input);
  REQUIRE(remove_tree(places.driver));
  CHECK(files({2}) == "2");
}

TEST_CASE("cards: the driver's tool is asked, also where it fails over a lost card") {
  const Place place;
  Places places;
  places.driver = place.path + "/driver";
  REQUIRE(make_folders(places.driver + "/0000:0b:00.0"));
  REQUIRE(write_file(places.driver + "/0000:0b:00.0/information",
                     "Bus Location: \t 0000:0b:00.0\nDevice Minor: \t 5\n"));
  const Env env = {{"PATH", place.path + ":/usr/bin:/bin"}};
  const Env none = {{"PATH", place.path + "/none"}};
  CHECK(ask_cards(none, places, std::chrono::seconds(30)).error().code == Errc::not_found);
  const auto says = [&](const std::string& script) {
    REQUIRE(write_file(place.path + "/nvidia-smi", "#!/bin/sh\n" + script, 0755));
    return ask_cards(env, places, std::chrono::seconds(30));
  };
  const auto lost = says(
      "echo 'Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error' >&2\n"
      "exit 15\n");
  REQUIRE(lost);
  CHECK(lost->front().number == 5);
  CHECK(!lost->front().sickness.empty());
  CHECK(says("exit 9\n").error().code == Errc::invalid_input);
  const auto well =
      says("[ \"$*\" = -q ] && exec cat '" MUSTER_SOURCE_DIR "/tests/data/nvidia_smi_h100.txt'\n");
  REQUIRE(well);
  CHECK(well->front().number == 0);
}

TEST_CASE("complete: nodes get the numbers of the machine's, and must be character devices") {
  const Place place;
  job::HostDevices devices{.nodes = {{"/dev/zero", "/dev/gpu0"}}};
  const Result<job::HostDevices> got = complete(devices);
  REQUIRE(got);
  CHECK(got->nodes[0].major == 1);
  CHECK(got->nodes[0].minor == 5);
  devices.nodes[0].outside = place.path;
  CHECK(complete(devices).error().text == place.path + ": hosts can only have character devices");
  devices.nodes[0].outside = place.path + "/none";
  CHECK(complete(devices).error().text ==
        "cannot open " + place.path + "/none: No such file or directory");
}

TEST_CASE("complete: a library is found by every name that leads to it on the machine") {
  const Place place;
  const std::string library = place.path + "/libcuda.so.535.1";
  REQUIRE(write_file(library, "ELF"));
  REQUIRE(write_file(place.path + "/libcudart.so.1", "ELF"));
  REQUIRE(::symlink("libcuda.so.535.1", (place.path + "/libcuda.so.1").c_str()) == 0);
  REQUIRE(::symlink("libcuda.so.1", (place.path + "/libcuda.so").c_str()) == 0);
  REQUIRE(::symlink("libcudart.so.1", (place.path + "/libcuda.so.2").c_str()) == 0);
  const Result<job::HostDevices> got =
      complete({.mounts = {{library, "/usr/lib/libcuda.so.535.1", true}}});
  REQUIRE(got);
  std::vector<std::string> inside;
  for (const job::DeviceMount& mount : got->mounts) {
    CHECK(mount.outside == library);
    inside.push_back(mount.inside);
  }
  CHECK(inside == std::vector<std::string>{
                      "/usr/lib/libcuda.so.535.1", "/run/muster/gpu/lib/libcuda.so",
                      "/run/muster/gpu/lib/libcuda.so.1", "/run/muster/gpu/lib/libcuda.so.535.1"});
}

TEST_CASE("hand over: the driver's libraries, unless a CDI file lists some") {
  const Place place;
  const std::string library = place.path + "/libcuda.so.1";
  REQUIRE(write_file(library, "ELF"));
  const std::string cache = "\tlibcuda.so.1 (libc6,x86-64) => " + library + "\n";
  Gpu gpu{.name = "nvidia.com/gpu=0", .kind = "nvidia.com/gpu", .own = {}, .common = {}};
  const auto libraries = [&] {
    const Result<Handed> handed = hand_over("algo-1", {gpu}, {.cdi = {}, .dev = place.path}, cache);
    REQUIRE(handed);
    std::vector<std::string> inside;
    for (const job::DeviceMount& mount : handed->devices.mounts)
      if (mount.inside.find("/lib") != std::string::npos) inside.push_back(mount.inside);
    return inside;
  };
  CHECK(libraries() == std::vector<std::string>{"/run/muster/gpu/lib/libcuda.so.1"});
  REQUIRE(write_file(place.path + "/libother.so.2", "ELF"));
  gpu.own.mounts.push_back({place.path + "/libother.so.2", "/usr/lib/libother.so.2"});
  CHECK(libraries() ==
        std::vector<std::string>{"/usr/lib/libother.so.2", "/run/muster/gpu/lib/libother.so.2"});
}

TEST_CASE("rdma: ports are read from the adapters' files") {
  const Result<std::string> top = make_private_folder("/tmp", "muster-rdma-");
  REQUIRE(top);
  const auto port = [&top](const std::string& adapter, const std::string& layer) {
    const std::string folder = *top + "/" + adapter + "/ports/1";
    REQUIRE(make_folders(folder));
    for (const auto& [name, text] : {std::pair<std::string, std::string>("state", "4: ACTIVE\n"),
                                     {"phys_state", "5: LinkUp\n"},
                                     {"rate", "400 Gb/sec (4X NDR)\n"},
                                     {"link_layer", layer + "\n"}})
      REQUIRE(write_file(folder + "/" + name, text));
    REQUIRE(write_file(*top + "/" + adapter + "/board_id", "MT_0838\n"));
  };
  port("mlx5_0", "InfiniBand");
  port("rdmap0s1", "Unspecified");
  const std::vector<RdmaPort> ports = rdma_ports(*top);
  REQUIRE(ports.size() == 1);
  CHECK(ports.front().name == "mlx5_0/1");
  CHECK(ports.front().model == "InfiniBand MT_0838");
  CHECK(rdma_remarks(ports).empty());
  CHECK(rdma_summary(ports) == "1 x 400 Gb/sec (4X NDR)");
  CHECK(rdma_ports(*top + "/missing").empty());
  static_cast<void>(remove_tree(*top));
}

TEST_CASE("rdma: nodes that anybody may use are given, and memory may be pinned") {
  using Names = std::vector<std::string>;
  const Place place;
  job::HostDevices devices;
  CHECK(add_rdma(devices, place.path).empty());
  REQUIRE(make_folders(place.path + "/infiniband"));
  const auto make = [&](const std::string& name, mode_t mode) {
    const std::string path = place.path + "/" + name;
    if (::mknod(path.c_str(), S_IFCHR | mode, ::makedev(1, 3)) != 0) return false;
    return ::chmod(path.c_str(), mode) == 0;
  };
  if (!make("gdrdrv", 0666)) return;  // Not root's test.
  CHECK(add_rdma(devices, place.path) == Names{"/dev/gdrdrv"});
  CHECK(!devices.locks_memory);
  REQUIRE(make("infiniband/uverbs0", 0666));
  REQUIRE(make("infiniband/umad0", 0600));
  CHECK(add_rdma(devices, place.path) == Names{"/dev/infiniband", "/dev/gdrdrv"});
  REQUIRE(devices.nodes.size() == 2);  // One of them was there.
  CHECK(devices.nodes[0].inside == "/dev/gdrdrv");
  CHECK(devices.nodes[1].inside == "/dev/infiniband/uverbs0");
  CHECK(devices.locks_memory);
  devices.nodes[1].outside = place.path + "/infiniband/umad0";
  REQUIRE(closed_nodes(devices).size() == 1);
  CHECK(closed_nodes(devices)[0].starts_with(place.path + "/infiniband/umad0 cannot be opened"));
}

}  // namespace
}  // namespace muster::devices
