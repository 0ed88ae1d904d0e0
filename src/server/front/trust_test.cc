#include "server/front/trust.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

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

TEST_CASE("tls: links of other users to a certificate, its key or its CA are not followed" *
          doctest::skip(::geteuid() != 0)) {
  const std::string folder = *make_private_folder("/tmp", "muster-trust-");
  const std::string file = folder + "/file", link = folder + "/link";
  REQUIRE(write_file(file, "text"));
  REQUIRE(::symlink("file", link.c_str()) == 0);
  CHECK(roots_with(link, {{"SSL_CERT_FILE", "/none"}}).value_or("") == "text");
  REQUIRE(::lchown(link.c_str(), 4321, 4321) == 0);
  for (std::string ServerConfig::*field :
       {&ServerConfig::ca, &ServerConfig::certificate, &ServerConfig::key}) {
    ServerConfig config;
    config.certificate = config.key = file;
    config.*field = link;
    const Result<void> refused = check_tls(config, {});
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::invalid_input);
    CHECK(refused.error().text.find(link + ": this symbolic link belongs to user 4321") !=
          std::string::npos);
  }
  REQUIRE(remove_tree(folder));
}

}  // namespace
}  // namespace muster::server
