#include "container/bundle/ability.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

TEST_CASE("ability: one phrase names the first thing that a node lacks for a container") {
  Ability whole{.has_runtime = true};
  CHECK(!lack_of(whole));
  CHECK(*lack_of({.no_root = "user.max_user_namespaces is 0"}) ==
        "it requires root or user namespaces, which are not allowed there "
        "(user.max_user_namespaces is "
        "0)");
  Ability no_runtime = whole;
  no_runtime.has_runtime = false;
  no_runtime.no_group = "x";
  CHECK(lack_of(no_runtime)->find("runc is not installed") == 0);
  Ability no_mounts = whole;
  no_mounts.no_mounts = "overlay: No such device";
  CHECK(*lack_of(no_mounts) == "mounts are not allowed there (overlay: No such device)");
  Ability no_group = whole;
  no_group.no_group = "/sys/fs/cgroup: Read-only file system";
  CHECK(lack_of(no_group)->find("Read-only") != std::string::npos);
}

TEST_CASE("ability: a PATH without the runtime is noticed, and system folders are looked in too") {
  const Ability found = find_ability({{"PATH", "/nowhere"}}, "");
  CHECK(found.has_runtime);  // /usr/sbin is looked in whatever PATH says.
}

}  // namespace
}  // namespace muster::container
