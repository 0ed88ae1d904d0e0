#include "host/env/place.h"

#include <doctest/doctest.h>

#include "net/addresses/look_up.h"

namespace muster::env {
namespace {

TEST_CASE("place: no host announces its loopback address to others") {
  const std::vector<std::string> two = {"here", "192.0.2.7"};
  CHECK(address_for_others("10.1.2.3", "here", two) == "10.1.2.3");
  CHECK(address_for_others("", "here", two).empty());
  CHECK(address_for_others("127.0.0.1", "here", {"here"}) == "127.0.0.1");
  CHECK(address_for_others("127.0.1.1", "here", {"here", "127.0.0.2"}).empty());
  const std::optional<std::string> out = address_towards("192.0.2.7");
  for (const char* loopback : {"127.0.1.1", "::1"})
    CHECK(address_for_others(loopback, "here", two) == out.value_or(""));
}

TEST_CASE("place: a host joins no roll call where it or the leader has IPv6 addresses only") {
  CHECK(check_own_and_leader("192.0.2.1", "192.0.2.2"));
  CHECK(check_own_and_leader("fd00::1", "192.0.2.2").error().text ==
        "resourceconfig.json: fd00::1 has only IPv6 addresses (fd00::1), but a job's hosts connect "
        "to each other over IPv4");
  CHECK(check_own_and_leader("192.0.2.1", "fd00::2")
            .error()
            .text.starts_with("resourceconfig.json: fd00::2 has only IPv6 addresses"));
}

}  // namespace
}  // namespace muster::env
