#include "net/sockets/public_address.h"

#include <doctest/doctest.h>

namespace muster::loop {
namespace {

TEST_CASE("public address: addresses of the public internet, and no others") {
  for (const char* address :
       {"1.1.1.1", "52.216.1.2", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
        "169.253.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"}) {
    CAPTURE(address);
    CHECK(is_public_address(address));
  }
  for (const char* address : {"0.0.0.0",
                              "10.1.2.3",
                              "100.64.0.1",
                              "127.0.0.1",
                              "127.8.8.8",
                              "169.254.169.254",
                              "169.254.170.2",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.8",
                              "192.168.1.1",
                              "198.18.0.1",
                              "203.0.113.9",
                              "224.0.0.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::ffff:169.254.169.254",
                              "::ffff:1.1.1.1",
                              "64:ff9b::a9fe:a9fe",
                              "fe80::1",
                              "fd00::1",
                              "fd00:ec2::254",
                              "ff02::1",
                              "2001:db8::1",
                              "2002:a9fe:a9fe::1",
                              "2001:0:1::1",
                              "localhost",
                              ""}) {
    CAPTURE(address);
    CHECK(!is_public_address(address));
  }
}

TEST_CASE("public address: this machine's own are known") {
  CHECK(is_own_address("127.0.0.1"));
  CHECK(!is_own_address("1.1.1.1"));
}

}  // namespace
}  // namespace muster::loop
