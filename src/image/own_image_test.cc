#include "image/own_image.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

TEST_CASE("own image: the realm's ECR and the server's addresses mean what was pushed here") {
  const OwnNames own{"123456789012", "eu-west-1", {"127.0.0.1:7700", "LAB:7700", "[::1]:7700"}};
  const std::string digest = "sha256:" + std::string(64, 'a');
  struct {
    std::string text;
    std::optional<std::string> want;
  } const cases[] = {
      {"123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/box:v1",
       "registry.muster.internal/team/box:v1"},
      {"127.0.0.1:7700/box", "registry.muster.internal/box:latest"},
      {"lab:7700/box:v2", "registry.muster.internal/box:v2"},
      {"[::1]:7700/box:v2", "registry.muster.internal/box:v2"},
      {"127.0.0.1:7700/box@" + digest, "registry.muster.internal/box@" + digest},
      {"docker://127.0.0.1:7700/box:v1", "registry.muster.internal/box:v1"},
      {"registry.muster.internal/box:v1", "registry.muster.internal/box:v1"},
      {"123456789012.dkr.ecr.us-east-1.amazonaws.com/box:v1", std::nullopt},
      {"210987654321.dkr.ecr.eu-west-1.amazonaws.com/box:v1", std::nullopt},
      {"123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.example/box:v1", std::nullopt},
      {"127.0.0.1:7701/box", std::nullopt},
      {"127.0.0.1/box", std::nullopt},
      {"box:v1", std::nullopt},
      {"127.0.0.1:7700/../box", std::nullopt},
      {"oci:/tmp/box:v1", std::nullopt},
      {"docker-daemon:127.0.0.1:7700/box:v1", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(own_image(c.text, own) == c.want);
  }
}

TEST_CASE("own image: a name is read back, and only an own one") {
  const std::optional<OwnName> name = read_own_name("registry.muster.internal/team/box:v1");
  REQUIRE(name);
  CHECK(name->repository == "team/box");
  CHECK(name->tag == "v1");
  CHECK(name->digest.empty());
  CHECK(!read_own_name("registry.muster.internal.example/team/box:v1"));
  CHECK(!read_own_name("docker.io/library/box:v1"));
  CHECK(!read_own_name("registry.muster.internal/../x"));
}

}  // namespace
}  // namespace muster::image
