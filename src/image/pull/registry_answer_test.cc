#include "image/pull/registry_answer.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

TEST_CASE("image registry: redirects stay on TLS, or where they may go without") {
  const http::Origin secure{true, "r.example", 443};
  const http::Origin here{false, "127.0.0.1", 5000};
  const http::Origin clear{false, "r.example", 80};
  struct {
    http::Origin from;
    const char* location;
    bool plain;
    const char* want;  ///< Authority and target; empty: refused.
  } const cases[] = {
      {secure, "https://cdn.example/x?sig=hush", false, "cdn.example/x?sig=hush"},
      {secure, "/v2/b?c", false, "r.example/v2/b?c"},
      {secure, "http://cdn.example/x", false, ""},
      {secure, "http://cdn.example/x", true, ""},
      {secure, "http://127.0.0.1/x", false, ""},
      {secure, "//cdn.example/x", false, ""},
      {secure, "", false, ""},
      {secure, "/a b", false, ""},
      {secure, "https://user:hush@cdn.example/x", false, ""},
      {secure, "file:///etc/hush", false, ""},
      {here, "http://127.0.0.1:6000/x", false, "127.0.0.1:6000/x"},
      {here, "http://cdn.example/x", false, ""},
      {here, "https://cdn.example/x", false, "cdn.example/x"},
      {clear, "http://cdn.example/x", true, "cdn.example/x"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.location);
    const http::Head answer{307, {{"location", c.location}}};
    const Result<http::Url> got = redirected({c.from, "/v2/"}, answer, c.plain);
    REQUIRE(got.has_value() == (*c.want != '\0'));
    if (got) CHECK(got->origin.authority() + got->target == c.want);
    if (!got) CHECK(got.error().code == Errc::unsupported);
    if (!got) CHECK(got.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("image registry: a range counts where it ends with the blob") {
  CHECK(range_begin("bytes 5-9/10", 10) == 5);
  CHECK(range_begin("bytes 0-9/*", 10) == 0);
  for (const char* bad : {"", "bytes", "5-9/10", "bytes 5-8/10", "bytes 5-9/11", "bytes 9-5/10",
                          "bytes -5-9/10", "bytes x-9/10", "bytes 5/10-9", "items 5-9/10"})
    CHECK_MESSAGE(!range_begin(bad, 10), bad);
}

TEST_CASE("image registry: a failure in the registry's own words, bounded") {
  const std::string body =
      R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest\n unknown","detail":{}}]})";
  CHECK(failure_in(body) == "MANIFEST_UNKNOWN: manifest  unknown");
  for (const char* none : {"", "<html>", "[]", "{}", R"({"errors":[]})", R"({"errors":["x"]})",
                           R"({"errors":[{"code":1}]})"})
    CHECK(failure_in(none).empty());
  const std::string much = R"({"errors":[{"message":")" + std::string(9000, 'x') + "\"}]}";
  CHECK(failure_in(much).size() == 300);
  struct {
    int status;
    const char* login;
    Errc code;
    const char* text;
  } const cases[] = {
      {404, "", Errc::not_found, "no such image; the registry says: MANIFEST_UNKNOWN"},
      {401, "", Errc::denied, "no such image, or a login is required"},
      {403, "a file", Errc::denied, "the registry denied access with the login from a file"},
      {429, "", Errc::closed, "the registry returned 429"},
      {503, "", Errc::closed, "the registry returned 503"},
      {418, "", Errc::protocol, "the registry returned 418"},
  };
  for (const auto& c : cases) {
    const Error got = failure_of({c.status, {}}, body, "no such image", c.login);
    CHECK(got.code == c.code);
    CHECK_MESSAGE(got.text.starts_with(c.text), got.text);
  }
}

}  // namespace
}  // namespace muster::image
