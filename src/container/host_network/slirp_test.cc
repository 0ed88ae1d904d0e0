#include "container/host_network/slirp.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace muster::container {
namespace {

TEST_CASE("slirp: no address of the machine or of a cloud is let through") {
  const std::string rules = slirp_rules({"127.0.0.1", "192.0.2.7", "10.1.2.3"});
  for (const char* closed : {"192.0.2.7", "10.1.2.3", "127.0.0.0/8", "169.254.0.0/16"}) {
    CAPTURE(closed);
    CHECK(rules.find(closed) != std::string::npos);
  }
  CHECK(rules.find("127.0.0.1") == std::string::npos);  // The block has it already.
  CHECK(rules.find("oifname \"outside\" ip daddr @closed drop") != std::string::npos);
}

TEST_CASE("slirp: the machine's addresses are found") {
  const Result<std::vector<std::string>> found = machine_addresses();
  REQUIRE(found);
  CHECK(std::find(found->begin(), found->end(), "127.0.0.1") != found->end());
}

}  // namespace
}  // namespace muster::container
