#include "os/supervise/own_root.h"

#include <doctest/doctest.h>

namespace muster::supervise {
namespace {

TEST_CASE("own root: a user's largest range of ids, by name or number, 65,535 at most") {
  const std::string text =
      "# people\nann:100000:65536\nbob:165536:1000\nbob:300000:2000\n1003:400000:10\nbad:x:1\n";
  CHECK(subordinate_ids(text, "ann", 1001) == IdRange{100000, 65535});
  CHECK(subordinate_ids(text, "bob", 1002) == IdRange{300000, 2000});
  CHECK(subordinate_ids(text, "", 1003) == IdRange{400000, 10});
  CHECK(!subordinate_ids(text, "eve", 1004));
  CHECK(!subordinate_ids(text, "", 1001));
  CHECK(!subordinate_ids("ann:0:65536\nann:5:0\nann:-5:7\n", "ann", 1001));
}

}  // namespace
}  // namespace muster::supervise
