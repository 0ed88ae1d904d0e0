#include "aws/s3wire/s3_host.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::s3wire;

namespace {

/// The bucket, "-" for path style, or the refusal's code.
std::string bucket(const HostNames& names, std::string_view host) {
  const Result<std::string, aws::Refusal> got = bucket_of_host(host, names);
  if (!got) return got.error().code;
  return got->empty() ? "-" : *got;
}

}  // namespace

TEST_CASE("s3_host: a host is the server's, a bucket's, or is refused") {
  const HostNames names = host_names("Box.example.org", "s3.Example.org", {"proxy", "a.other"});
  const struct {
    const char* host;
    const char* want;
  } cases[] = {
      {"127.0.0.1:7700", "-"},
      {"10.1.2.3", "-"},
      {"[::1]:7700", "-"},
      {"", "-"},
      {"localhost", "-"},
      {"LOCALHOST:7700", "-"},
      {"localhost.:7700", "-"},
      {"box.example.org:7700", "-"},
      {"s3.example.org", "-"},
      {"proxy:7700", "-"},
      {"a.other", "-"},
      {"mine.localhost:7700", "mine"},
      {"mine.LocalHost", "mine"},
      {"a.b.localhost", "a.b"},
      {"MINE.localhost", "MINE"},
      {"mine.box.example.org", "mine"},
      {"mine.s3.example.org:7700", "mine"},
      {"registry.localhost", "-"},
      {"registry.box.example.org", "-"},
      {"example.org", "InvalidRequest"},
      {"mine.example.org", "InvalidRequest"},
      {"xbox.example.org", "InvalidRequest"},
      {".localhost", "InvalidRequest"},
      {"mine.proxy", "InvalidRequest"},
      {"localhost.evil.example", "InvalidRequest"},
      {"evil", "InvalidRequest"},
      {"mine.s3.amazonaws.com", "InvalidRequest"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.host);
    CHECK(bucket(names, c.host) == c.want);
  }
  const HostNames bare = host_names("", "", {});
  CHECK(bucket(bare, "mine.localhost") == "mine");
  CHECK(bucket(bare, "box") == "InvalidRequest");
  CHECK(bucket(host_names("10.0.0.1", "", {}), "mine.10.0.0.1") == "InvalidRequest");
  const HostNames nested = host_names("example.org", "s3.example.org", {});
  CHECK(bucket(nested, "mine.s3.example.org") == "mine");
  CHECK(bucket(nested, "mine.example.org") == "mine");
}
