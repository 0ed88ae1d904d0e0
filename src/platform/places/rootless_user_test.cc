#include "platform/places/rootless_user.h"

#include <doctest/doctest.h>

namespace muster::places {
namespace {

TEST_CASE("rootless: only the missing parts are reported") {
  const Rootless most{65536, "", ""};
  CHECK(lacks(most) ==
        std::vector<std::string>{"no limits on memory, processors and disk (VolumeSizeInGB)",
                                 "the machine's own files belong to \"nobody\" in hosts and are "
                                 "read-only"});
  const Rootless least{1, "newuidmap is not installed", "nft is not installed"};
  CHECK(lacks(least).size() == 4);
  CHECK(lacks(least)[2] ==
        "hosts have one user: root, with your user ID (newuidmap is not installed)");
}

}  // namespace
}  // namespace muster::places
