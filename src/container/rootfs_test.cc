#include "container/rootfs.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/folder.h"
#include "base/remove_tree.h"

namespace muster::container {
namespace {

TEST_CASE("device: a node that is another device by now, or none, is not shown") {
  const std::string path = *make_private_folder("/tmp", "muster-rootfs-");
  const std::string target = path + "/target";
  CHECK(mount_device({"/dev/null", "/dev/gpu0", 1, 5}, target).error().text ==
        "/dev/null: no longer the device 1:5 that was chosen for the host");
  REQUIRE(write_file(path + "/file", ""));
  CHECK(!mount_device({path + "/file", "/dev/gpu0", 0, 0}, target));
  CHECK(mount_device({path + "/none", "/dev/gpu0", 1, 3}, target).error().code == Errc::not_found);
  CHECK(read_file(target).error().code == Errc::not_found);
  REQUIRE(remove_tree(path));
}

}  // namespace
}  // namespace muster::container
