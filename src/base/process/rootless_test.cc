#include "base/process/rootless.h"

#include <doctest/doctest.h>

#include "base/process/private_folders.h"

namespace muster {
namespace {

TEST_CASE("an ordinary user's state lies where the desktop's rules say") {
  CHECK(user_state_folder({{"HOME", "/home/ann"}}) == "/home/ann/.local/state/muster");
  CHECK(user_state_folder({{"HOME", "/home/ann"}, {"XDG_STATE_HOME", "/big/ann"}}) ==
        "/big/ann/muster");
  CHECK(user_state_folder({{"HOME", "/h"}, {"XDG_STATE_HOME", "relative"}}) ==
        "/h/.local/state/muster");
  CHECK(user_state_folder({}).empty());
}

TEST_CASE("only a rootless process keeps a separate register") {
  const Env root{{"HOME", "/root"}};
  CHECK(rootless_ids(root) == 0);
  CHECK(private_folder_register_of(root) == private_folder_register);
  const Env user{{"HOME", "/home/ann"}, {rootless_variable, "65537"}};
  CHECK(rootless_ids(user) == 65537);
  CHECK(private_folder_register_of(user) == "/home/ann/.local/state/muster/folders");
}

}  // namespace
}  // namespace muster
