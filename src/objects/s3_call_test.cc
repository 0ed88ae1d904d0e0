#include "objects/s3_call.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::objects;

TEST_CASE("s3 call: payloads are hashed for servers that bytes reach over a network without TLS") {
  struct {
    bool tls;
    const char* host;
    bool want;
  } const cases[] = {
      {false, "127.0.0.1", false},
      {false, "127.9.8.7", false},
      {false, "::1", false},
      {false, "localhost", false},
      {true, "s3.eu-west-1.amazonaws.com", false},
      {false, "10.0.0.1", true},
      {false, "0.0.0.0", true},
      {false, "127.0.0.1.example.com", true},
      {false, "localhost.example.com", true},
      {false, "minio", true},
      {false, "", true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.host);
    CHECK(in_the_clear({c.tls, c.host, 80}) == c.want);
  }
}
