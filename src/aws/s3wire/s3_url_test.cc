#include "aws/s3wire/s3_url.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::s3wire;

TEST_CASE("s3_url: bucket and key are read byte for byte") {
  struct {
    const char* text;
    S3Url want;
  } const cases[] = {
      {"s3://bucket/key", {"bucket", "key"}},
      {"s3://my.bucket-1/a/b/c.tar.gz", {"my.bucket-1", "a/b/c.tar.gz"}},
      {"s3://b/a b%20?x=1#y", {"b", "a b%20?x=1#y"}},
      {"s3://b//k", {"b", "/k"}},
      {"s3://b/folder/", {"b", "folder/"}},
      {"s3://b/\xc3\xa4", {"b", "\xc3\xa4"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<S3Url> got = parse_s3_url(c.text);
    REQUIRE(got);
    CHECK(*got == c.want);
    CHECK(text_of(*got) == c.text);
  }
  CHECK(*parse_s3_prefix("s3://bucket") == S3Url{"bucket", ""});
  CHECK(*parse_s3_prefix("s3://bucket/output/") == S3Url{"bucket", "output/"});
}

TEST_CASE("s3_url: an invalid URL is refused in one line") {
  const std::string long_key(1025, 'k');
  struct {
    std::string text;
    const char* want;
  } const cases[] = {
      {"", ": not an S3 URL; expected s3://bucket/key"},
      {"/opt/ml", "/opt/ml: not an S3 URL; expected s3://bucket/key"},
      {"S3://b/k", "S3://b/k: not an S3 URL; expected s3://bucket/key"},
      {"s3://", "s3://: no bucket name; expected s3://bucket/key"},
      {"s3:///key", "s3:///key: no bucket name; expected s3://bucket/key"},
      {"s3://bucket", "s3://bucket/: no key; expected s3://bucket/key"},
      {"s3://bucket/", "s3://bucket/: no key; expected s3://bucket/key"},
      {"s3://b\n/k", "s3://b?/k: a bucket name can contain only letters, digits, '-', '.' and '_'"},
      {"s3://b@h/k",
       "s3://b@h/k: a bucket name can contain only letters, digits, '-', '.' and '_'"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<S3Url> got = parse_s3_url(c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text == c.want);
  }
  CHECK(!parse_s3_url("s3://b/" + long_key));
}
