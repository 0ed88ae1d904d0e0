#include "image/pull/docker_config.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

// "ann:pa:ss" and "bob:x" in base64.
const std::string config = R"({
  "auths": {
    "quay.io": {"auth": "YW5uOnBhOnNz"},
    "quay.io/team": {"auth": "Ym9iOng="},
    "https://index.docker.io/v1/": {"username": "hub", "password": "p"},
    "https://old.example/v2/": {"auth": "Ym9iOng="},
    "127.0.0.1:5000": {"identitytoken": "refresh"},
    "empty.example": {}
  },
  "credHelpers": {"1.dkr.ecr.eu-west-1.amazonaws.com": "ecr-login"}
})";

TEST_CASE("image login: config.json's entries by registry and by folder of it") {
  struct {
    const char* registry;
    const char* repository;
    std::optional<Login> login;
    const char* helper;
  } const cases[] = {
      {"quay.io", "a/b", Login{"ann", "pa:ss", ""}, ""},
      {"quay.io", "team/b", Login{"bob", "x", ""}, ""},
      {"quay.io", "team2/b", Login{"ann", "pa:ss", ""}, ""},
      {"docker.io", "library/busybox", Login{"hub", "p", ""}, ""},
      {"old.example", "a", Login{"bob", "x", ""}, ""},
      {"127.0.0.1:5000", "a", Login{"", "", "refresh"}, ""},
      {"empty.example", "a", std::nullopt, ""},
      {"elsewhere.example", "a", std::nullopt, ""},
      {"quay.io.evil.example", "a", std::nullopt, ""},
      {"1.dkr.ecr.eu-west-1.amazonaws.com", "a", std::nullopt, "ecr-login"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.registry);
    const Result<ConfiguredLogin> got = login_in(config, c.registry, c.repository);
    REQUIRE(got);
    CHECK(got->login == c.login);
    CHECK(got->helper == c.helper);
  }
  CHECK(login_in(R"({"credsStore":"pass"})", "quay.io", "a")->helper == "pass");
  CHECK(
      login_in(R"({"credsStore":"pass","credHelpers":{"quay.io":"x"}})", "quay.io", "a")->helper ==
      "x");
  CHECK(login_in(R"({"credsStore":"pass","credHelpers":{"quay.io":""}})", "quay.io", "a")->helper ==
        "");
}

TEST_CASE("image login: an invalid config.json is refused without quoting its text") {
  for (const char* bad :
       {"", "hush", "[]", R"({"auths":{"quay.io":"hush"}})",
        R"({"auths":{"quay.io":{"auth":"hush"}}})", R"({"auths":{"quay.io":{"auth":"aHVzaA=="}}})",
        R"({"credsStore":"../hush"})", R"({"credsStore":".hush"})",
        R"({"credsStore":"hush me"})"}) {
    CAPTURE(bad);
    const Result<ConfiguredLogin> got = login_in(bad, "quay.io", "a");
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("image login: files are where Docker's and podman's are, or where the environment says") {
  using Files = std::vector<std::string>;
  CHECK(login_files({{"HOME", "/h"}, {"XDG_RUNTIME_DIR", "/r"}}) ==
        Files{"/r/containers/auth.json", "/h/.config/containers/auth.json",
              "/h/.docker/config.json"});
  CHECK(login_files({{"HOME", "/h"}, {"DOCKER_CONFIG", "/d"}}) == Files{"/d/config.json"});
  CHECK(login_files({{"DOCKER_CONFIG", "/d"}, {"REGISTRY_AUTH_FILE", "/f"}}) == Files{"/f"});
  CHECK(login_files({}).empty());
}

TEST_CASE("image login: a helper's answer, its refusal, and what is neither") {
  CHECK(**login_from_helper(R"({"ServerURL":"x","Username":"u","Secret":"s"})", true) ==
        Login{"u", "s", ""});
  CHECK(**login_from_helper(R"({"Username":"<token>","Secret":"s"})", true) == Login{"", "", "s"});
  CHECK(!login_from_helper("credentials not found in native keychain\n", false)->has_value());
  const auto failed = login_from_helper("hush: the keychain is locked", false);
  REQUIRE(!failed);
  CHECK(failed.error().code == Errc::denied);
  CHECK(failed.error().text.find("hush") == std::string::npos);
  for (const char* bad : {"", "hush", "[]", R"({"Username":"hush"})"}) {
    const auto got = login_from_helper(bad, true);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::protocol);
    CHECK(got.error().text.find("hush") == std::string::npos);
  }
  CHECK(helper_name_of("docker.io") == "https://index.docker.io/v1/");
  CHECK(helper_name_of("quay.io:443") == "quay.io:443");
}

}  // namespace
}  // namespace muster::image
