#include "aws/sign.h"

#include <doctest/doctest.h>

#include <map>

using namespace muster;
using namespace muster::aws;

namespace {

constexpr const char* secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr UnixMillis then{1440938160000};  // 2015-08-30 12:36:00

std::map<std::string, std::string> by_name(const Pairs& pairs) {
  return {pairs.begin(), pairs.end()};
}

}  // namespace

// The signatures are botocore's (SigV4Auth, S3SigV4Auth) for the same requests.
TEST_CASE("sign: signatures are those that botocore makes") {
  struct {
    const char* name;
    const char* service;
    SignRequest request;
    const char* body;
    const char* token;
    const char* headers;
    const char* signature;
  } const cases[] = {
      {"s3, an empty GET",
       "s3",
       {"GET", "/key", {}, {{"host", "bucket.s3.us-east-1.amazonaws.com"}}, ""},
       "",
       "",
       "host;x-amz-content-sha256;x-amz-date",
       "cb7ae7ac2ddffbf13c59bab4e36550aca5dc8d52494e31a3d5361a552df18e40"},
      {"s3, a key that needs encoding",
       "s3",
       {"GET",
        "/bucket/" + percent_encoded("a b+c/\xc3\xa4&=~.bin", true),
        {},
        {{"host", "127.0.0.1:9000"}, {"x-amz-checksum-mode", "ENABLED"}, {"Range", "bytes=5-"}},
        ""},
       "",
       "",
       "host;range;x-amz-checksum-mode;x-amz-content-sha256;x-amz-date",
       "d4576c42d0b3d35a88b580a11574f8d6edab5c18614ba5bf3806d993919f63c1"},
      {"s3, a session token",
       "s3",
       {"GET", "/bucket/key", {}, {{"host", "127.0.0.1:9000"}}, ""},
       "",
       "token/with+signs==",
       "host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
       "187f39cd2f8c013fb16a16aac7e8f08d94b3dd7853dfa0d53e22059ac8a2d8f9"},
      {"s3, a part of an upload",
       "s3",
       {"PUT",
        "/bucket/key",
        {{"uploadId", "a&b="}, {"partNumber", "2"}},
        {{"host", "127.0.0.1:9000"}, {"x-amz-checksum-crc32", "AAAAAA=="}},
        ""},
       "hello",
       "",
       "host;x-amz-checksum-crc32;x-amz-content-sha256;x-amz-date",
       "4377cd4415f3d59d15d5132fe096d34b3d29a3a3271853d0f68b7175d7c3c9be"},
      {"s3, a query without a value",
       "s3",
       {"POST", "/bucket/key", {{"uploads", ""}}, {{"host", "127.0.0.1:9000"}}, ""},
       "",
       "",
       "host;x-amz-content-sha256;x-amz-date",
       "936bc9ea9c478ee3bb1dff9355e31981f63a7d4ab919d6ecd7fa0f9a07197bcc"},
      {"others: encoded twice",
       "codeartifact",
       {"GET", "/a%20b", {}, {{"host", "example.amazonaws.com"}}, ""},
       "",
       "",
       "host;x-amz-date",
       "9765146c6f376ce294f9d8881d76f807ab261339be19a330b813b62c92897384"},
      {"others: a name that begins another",
       "codeartifact",
       {"POST",
        "/v1/authorization-token",
        {{"domain-owner", "1"}, {"domain", "d"}},
        {{"host", "example.amazonaws.com"}},
        ""},
       "",
       "t",
       "host;x-amz-date;x-amz-security-token",
       "89a0695ff312d5fa5af0d6537119783d49a42fd507e7ca3a80ca03e5be4b7ab4"},
      {"spaces in a header fold",
       "service",
       {"POST", "/", {}, {{"host", "example.amazonaws.com"}, {"My-Header", "  a   b  c "}}, ""},
       "{}",
       "",
       "host;my-header;x-amz-date",
       "17789f6b7f0d9a5a4ccbb6e012f952590b1239a1053ce898b47067abe0ec4ba0"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    SignRequest request = c.request;
    request.payload_hash = sha256_hex(c.body);
    const auto added =
        by_name(sign(request, {c.service, "us-east-1", then}, {"AKIDEXAMPLE", secret, c.token}));
    CHECK(added.at("x-amz-date") == "20150830T123600Z");
    CHECK(added.at("Authorization") ==
          std::string("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/") + c.service +
              "/aws4_request, SignedHeaders=" + c.headers + ", Signature=" + c.signature);
    CHECK(added.contains("x-amz-content-sha256") == (std::string(c.service) == "s3"));
    CHECK(added.contains("x-amz-security-token") == (*c.token != '\0'));
  }
}

TEST_CASE("sign: a payload that is not hashed is said to be so") {
  const SignRequest request{"PUT", "/k", {}, {{"host", "h"}}, std::string(unsigned_payload)};
  const auto added = by_name(sign(request, {"s3", "us-east-1", then}, {"A", secret, ""}));
  CHECK(added.at("x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
}

TEST_CASE("sign: names of a query are in order as a whole, not as a text") {
  CHECK(encoded_query({{"domain-owner", "1"}, {"domain", "d"}}) == "domain=d&domain-owner=1");
  CHECK(encoded_query({{"b", ""}, {"a", "x y/z"}}) == "a=x%20y%2Fz&b=");
  CHECK(encoded_query({}).empty());
}
