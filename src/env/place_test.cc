#include "env/place.h"

#include <doctest/doctest.h>

namespace muster::env {
namespace {

TEST_CASE("place: no host tells others its loopback") {
  const std::vector<std::string> two = {"here", "192.0.2.7"};
  CHECK(address_for_others("10.1.2.3", "here", two) == "10.1.2.3");
  CHECK(address_for_others("", "here", two).empty());
  CHECK(address_for_others("127.0.0.1", "here", {"here"}) == "127.0.0.1");
  CHECK(address_for_others("127.0.1.1", "here", {"here", "127.0.0.2"}).empty());
  const std::optional<std::string> out = address_towards("192.0.2.7");
  for (const char* loopback : {"127.0.1.1", "::1"})
    CHECK(address_for_others(loopback, "here", two) == out.value_or(""));
}

}  // namespace
}  // namespace muster::env
