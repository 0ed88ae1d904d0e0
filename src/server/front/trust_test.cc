#include "server/front/trust.h"

#include <doctest/doctest.h>

namespace muster::server {
namespace {

TEST_CASE("own names: an image is the server's by each address that leads to it, and no other") {
  struct {
    const char *host, *name, *image;
    bool is_own;
  } const cases[] = {
      {"127.0.0.1", "", "127.0.0.1:7700/box", true},
      {"127.0.0.1", "", "localhost:7700/box", true},
      {"127.0.0.1", "", "127.0.0.1:7701/box", false},
      {"0.0.0.0", "lab", "lab:7700/box", true},
      {"0.0.0.0", "lab", "127.0.0.1:7700/box", true},
      {"::", "lab", "[::1]:7700/box", true},
      {"::1", "", "[::1]:7700/box", true},
      {"10.0.0.5", "", "10.0.0.5:7700/box", true},
      // Another server's, on the same machine.
      {"10.0.0.5", "", "127.0.0.1:7700/box", false},
      {"10.0.0.5", "", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/box", true},
      {"10.0.0.5", "", "123456789012.dkr.ecr.us-east-1.amazonaws.com/box", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.host);
    CAPTURE(c.image);
    ServerConfig config;
    config.host = c.host;
    config.name = c.name;
    config.realm = {"eu-west-1", "123456789012"};
    const std::optional<std::string> own = image::own_image(c.image, own_names(config, 7700));
    CHECK(own == (c.is_own ? std::optional<std::string>("registry.muster.internal/box:latest")
                           : std::nullopt));
  }
}

}  // namespace
}  // namespace muster::server
