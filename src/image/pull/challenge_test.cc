#include "image/pull/challenge.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

TEST_CASE("image challenge: registries' challenges are parsed") {
  struct {
    const char* header;
    std::vector<Challenge> want;
  } const cases[] = {
      {R"(Basic realm="Registry Realm")", {{"basic", {{"realm", "Registry Realm"}}}}},
      {R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",)"
       R"(scope="repository:a/b:pull")",
       {{"bearer",
         {{"realm", "https://auth.docker.io/token"},
          {"service", "registry.docker.io"},
          {"scope", "repository:a/b:pull"}}}}},
      {R"(BEARER Realm = "x" , error=invalid_token)",
       {{"bearer", {{"realm", "x"}, {"error", "invalid_token"}}}}},
      {R"(Negotiate YWJj==, Basic realm="a, b=\"c\"")",
       {{"negotiate", {}}, {"basic", {{"realm", "a, b=\"c\""}}}}},
      {R"(, Basic realm=x,, Bearer realm=y,)",
       {{"basic", {{"realm", "x"}}}, {"bearer", {{"realm", "y"}}}}},
      {"NTLM, Basic", {{"ntlm", {}}, {"basic", {}}}},
      {"", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.header);
    const Result<std::vector<Challenge>> got = challenges_from(c.header);
    REQUIRE(got);
    CHECK(*got == c.want);
  }
}

TEST_CASE("image challenge: an invalid one is refused") {
  std::string many_schemes;
  std::string many_parameters = "Basic ";
  for (int i = 0; i < 40; ++i) {
    many_schemes += "A, ";
    many_parameters += "p" + std::to_string(i) + "=1, ";
  }
  const std::string control = std::string("Basic realm=\"a") + '\n' + "b\"";
  for (const std::string& bad :
       {std::string(R"(realm="x")"), std::string(R"(Basic realm="x)"),
        std::string("Basic realm=\""), std::string(R"(Basic realm="x\)"),
        std::string(R"(Basic realm="x" y)"), std::string("Basic a=1, a=2"),
        std::string("Basic a=(, b=1"), std::string("\x80"),
        std::string("Basic ") + std::string(9000, 'a'), many_schemes, many_parameters, control}) {
    CAPTURE(bad);
    const Result<std::vector<Challenge>> got = challenges_from(bad);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::protocol);
  }
}

TEST_CASE("image challenge: a token service's answer has a token that fits into a header") {
  CHECK(*token_from(R"({"token":"abc","access_token":"def","expires_in":60})") == "abc");
  CHECK(*token_from(R"({"token":"","access_token":"def"})") == "def");
  for (const std::string& bad :
       {std::string(""), std::string("[]"), std::string("{}"), std::string(R"({"token":1})"),
        std::string(R"({"token":"secret\r\nX: y"})"), std::string(R"({"token":"se cret"})"),
        R"({"token":")" + std::string(50000, 'a') + "\"}"}) {
    const Result<std::string> got = token_from(bad);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::protocol);
    CHECK(got.error().text.find("cret") == std::string::npos);
  }
}

}  // namespace
}  // namespace muster::image
