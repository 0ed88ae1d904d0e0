#include "aws/credentials.h"

#include <doctest/doctest.h>

#include "aws/retry.h"

using namespace muster;
using namespace muster::aws;

TEST_CASE("credentials: the environment's are used unchanged") {
  const Result<CredentialSources> sources = credential_sources(
      {{"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "S\n"}, {"AWS_SESSION_TOKEN", "T"}});
  REQUIRE(sources);
  CHECK(sources->variables == Credentials{"A", "S", "T"});
  CHECK(!sources->file);  // Without a home there is no file.
  CHECK(!sources->endpoint);
}

TEST_CASE("credentials: half a key pair is said by name, never by value") {
  const Result<CredentialSources> one = credential_sources({{"AWS_ACCESS_KEY_ID", "hush"}});
  REQUIRE(!one);
  CHECK(one.error().text == "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not; set both");
  const Result<CredentialSources> other = credential_sources({{"AWS_SECRET_ACCESS_KEY", "hush"}});
  REQUIRE(!other);
  CHECK(other.error().text ==
        "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not; set both");
}

TEST_CASE("credentials: the container's endpoint is asked by http at known places only") {
  struct {
    const char* name;
    const char* value;
    const char* want;  ///< Empty: refused.
  } const cases[] = {
      {"RELATIVE", "/v2/credentials/1", "169.254.170.2:80/v2/credentials/1"},
      {"RELATIVE", "v2", ""},
      {"RELATIVE", "/a b", ""},
      {"FULL", "http://127.0.0.1:8080/c?x=1", "127.0.0.1:8080/c?x=1"},
      {"FULL", "http://localhost/c", "localhost:80/c"},
      {"FULL", "http://[::1]:81/c", "::1:81/c"},
      {"FULL", "http://169.254.170.23/v1/credentials", "169.254.170.23:80/v1/credentials"},
      {"FULL", "http://[fd00:ec2::23]/v1", "fd00:ec2::23:80/v1"},
      {"FULL", "https://any.example/c", "any.example:443/c"},
      {"FULL", "http://169.254.169.254/c", ""},
      {"FULL", "http://any.example/c", ""},
      {"FULL", "http://127.0.0.1.example/c", ""},
      {"FULL", "http://1270.0.0.1/c", ""},
      {"FULL", "ftp://localhost/c", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.value);
    const std::string name = std::string("AWS_CONTAINER_CREDENTIALS_") + c.name + "_URI";
    const Result<CredentialSources> got = credential_sources({{name, c.value}});
    REQUIRE(got.has_value() == (*c.want != '\0'));
    if (!got) {
      CHECK(got.error().code == Errc::invalid_input);
      CHECK(got.error().text.starts_with(name));
      continue;
    }
    const http::Url& url = got->endpoint->url;
    CHECK(url.origin.host + ":" + std::to_string(url.origin.port) + url.target == c.want);
  }
}

TEST_CASE("credentials: a profile of the shared file") {
  const std::string text =
      "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=S=1\n\n"
      "[ other ]\r\nAWS_ACCESS_KEY_ID: B\r\naws_secret_access_key = T\r\naws_session_token = U\r\n"
      "[half]\naws_access_key_id = C\n[none]\nregion = x\n";
  CHECK(**credentials_in(text, "default") == Credentials{"A", "S=1", ""});
  CHECK(**credentials_in(text, "other") == Credentials{"B", "T", "U"});
  CHECK(!credentials_in(text, "half"));
  CHECK(!credentials_in(text, "none")->has_value());
  CHECK(!credentials_in(text, "missing")->has_value());
  const Result<CredentialSources> named = credential_sources(
      {{"AWS_SHARED_CREDENTIALS_FILE", "~/c"}, {"HOME", "/h"}, {"AWS_PROFILE", "other"}});
  REQUIRE(named);
  CHECK(named->file->path == "/h/c");
  CHECK(named->file->profile == "other");
  CHECK(named->file->named);
  CHECK(credential_sources({{"HOME", "/h"}})->file->path == "/h/.aws/credentials");
}

TEST_CASE("credentials: the endpoint's answer, good and bad") {
  const Result<FetchedCredentials> got =
      credentials_from_json(R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T",)"
                            R"("Expiration":"2030-01-02T03:04:05Z"})");
  REQUIRE(got);
  CHECK(got->credentials == Credentials{"A", "S", "T"});
  CHECK(got->expires == UnixMillis(1893553445000));
  for (const char* bad : {"", "[]", "{}", R"({"AccessKeyId":"A"})",
                          R"({"AccessKeyId":1,"SecretAccessKey":"hush"})"}) {
    CAPTURE(bad);
    const Result<FetchedCredentials> none = credentials_from_json(bad);
    REQUIRE(!none);
    CHECK(none.error().code == Errc::protocol);
    CHECK(none.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("retry: temporary errors are retried") {
  CHECK(worth_another_try(500, ""));
  CHECK(worth_another_try(503, "SlowDown"));
  CHECK(worth_another_try(429, ""));
  CHECK(worth_another_try(400, "RequestTimeout"));
  CHECK(!worth_another_try(400, "InvalidRequest"));
  CHECK(!worth_another_try(403, "InvalidAccessKeyId"));
  CHECK(!worth_another_try(404, "NoSuchKey"));
  CHECK(!worth_another_try(501, "NotImplemented"));
  CHECK(!worth_another_try(507, "InsufficientStorage"));
  CHECK(worth_another_try(fail(Errc::timeout, "")));
  CHECK(worth_another_try(fail(Errc::closed, "")));
  CHECK(!worth_another_try(fail(Errc::denied, "")));
  CHECK(!worth_another_try(fail(Errc::invalid_input, "")));
}

TEST_CASE("retry: Retry-After in seconds") {
  const auto wait = [](const char* value) {
    return retry_after({.status = 503, .headers = {{"retry-after", value}}});
  };
  CHECK(wait("2") == std::chrono::seconds(2));
  CHECK(wait("0") == std::chrono::seconds(0));
  CHECK(!wait("-1"));
  CHECK(!wait("Wed, 21 Oct 2015 07:28:00 GMT"));
  CHECK(!wait("99999999999999999999"));
  CHECK(!retry_after({.status = 503, .headers = {}}));
}
