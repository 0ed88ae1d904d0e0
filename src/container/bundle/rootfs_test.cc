#include "container/bundle/rootfs.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/process/user_namespace.h"

namespace muster::container {
namespace {

TEST_CASE("device: a node that has changed or is not a device is not shown") {
  const std::string path = *make_private_folder("/tmp", "muster-rootfs-");
  const std::string target = path + "/target";
  CHECK(mount_device({"/dev/null", "/dev/gpu0", 1, 5}, target).error().text ==
        "/dev/null is no longer the device 1:5 that was chosen for the host");
  REQUIRE(write_file(path + "/file", ""));
  CHECK(!mount_device({path + "/file", "/dev/gpu0", 0, 0}, target));
  CHECK(mount_device({path + "/none", "/dev/gpu0", 1, 3}, target).error().code == Errc::not_found);
  CHECK(read_file(target).error().code == Errc::not_found);
  REQUIRE(remove_tree(path));
}

/// In the mounts of the calling thread alone: what an image's root of `count` layers shows, each of
/// which has a file of its own; the uppermost hides that of the lowest.
Result<std::size_t> files_of_stack(const std::string& scratch, int count) {
  std::vector<std::string> layers;
  for (int number = 0; number < count; ++number) {
    layers.push_back(scratch + "/" + std::to_string(number));
    TRY(make_folders(layers.back()));
    TRY(write_file(layers.back() + "/file-" + std::to_string(number), "x"));
  }
  if (::mknod((layers.back() + "/file-0").c_str(), S_IFCHR, 0) != 0) return fail_errno("whiteout");
  TRY(mount_host_place());
  TRY(make_layers(scratch + "/written"));
  TRY(mount_image_root(layers, scratch + "/written", {}));
  return TRY(names_in(host_root())).size();
}

TEST_CASE(
    "rootfs: an image's root stacks as many layers as two overlays do, and leaves us where we "
    "are") {
  const std::string path = *make_private_folder("/tmp", "muster-rootfs-");
  const std::filesystem::path before = std::filesystem::current_path();
  Result<std::size_t> files = fail(Errc::system, "not tried");
  bool is_private = false;
  std::thread([&] {
    is_private = enter_private_mounts().has_value();
    if (is_private) files = files_of_stack(path, 999);
    CHECK(std::filesystem::current_path() == before);
  }).join();
  if (is_private) {
    INFO((files ? "" : files.error().text));
    CHECK(files.value_or(0) == 998);
  } else {
    MESSAGE("skipped: this process may have no mounts of its own");
  }
  REQUIRE(remove_tree(path));
}

}  // namespace
}  // namespace muster::container
