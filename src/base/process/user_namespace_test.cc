#include "base/process/user_namespace.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("user namespace: the setting that forbids namespaces is named") {
  CHECK(why_no_user_namespace({{"user.max_user_namespaces", "0"}}) ==
        "user.max_user_namespaces is 0");
  CHECK(why_no_user_namespace({{"kernel.unprivileged_userns_clone", "0"}}) ==
        "kernel.unprivileged_userns_clone is 0");
  CHECK(why_no_user_namespace({{"kernel.apparmor_restrict_unprivileged_userns", "1"}}) ==
        "kernel.apparmor_restrict_unprivileged_userns is 1");
  CHECK(why_no_user_namespace({{"user.max_user_namespaces", "1000"}}).empty());
}

}  // namespace
}  // namespace muster
