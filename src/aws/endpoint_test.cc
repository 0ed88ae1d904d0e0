#include "aws/endpoint.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::aws;

TEST_CASE("endpoint: the region comes from the first variable that is set") {
  CHECK(*region_from({}) == "us-east-1");
  CHECK(*region_from({{"SAGEMAKER_REGION", "eu-west-1"}}) == "eu-west-1");
  CHECK(*region_from({{"SAGEMAKER_REGION", "a"}, {"AWS_DEFAULT_REGION", "b"}}) == "b");
  CHECK(*region_from({{"AWS_DEFAULT_REGION", "b"}, {"AWS_REGION", "c"}}) == "c");
  CHECK(*region_from({{"AWS_REGION", ""}, {"AWS_DEFAULT_REGION", "b"}}) == "b");
  CHECK(!region_from({{"AWS_REGION", "evil.example/"}}));
}

TEST_CASE("endpoint: Amazon's servers by host, one's own by path") {
  struct {
    const char* name;
    Env env;
    const char* bucket;
    const char* region;
    const char* url;
  } const cases[] = {
      {"by host", {}, "my-bucket", "eu-west-1", "https://my-bucket.s3.eu-west-1.amazonaws.com"},
      {"dots", {}, "my.bucket", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/my.bucket"},
      {"capitals", {}, "MyBucket", "us-east-1", "https://s3.us-east-1.amazonaws.com/MyBucket"},
      {"China", {}, "abc", "cn-north-1", "https://abc.s3.cn-north-1.amazonaws.com.cn"},
      {"own", {{"AWS_ENDPOINT_URL", "http://minio:9000/"}}, "abc", "x", "http://minio:9000/abc"},
      {"own for S3",
       {{"AWS_ENDPOINT_URL", "http://a"}, {"AWS_ENDPOINT_URL_S3", "https://b:444"}},
       "abc",
       "x",
       "https://b:444/abc"},
      {"elder name", {{"S3_ENDPOINT_URL", "http://c:80"}}, "abc", "x", "http://c/abc"},
      {"with a path", {{"AWS_ENDPOINT_URL_S3", "http://c/s3/"}}, "abc", "x", "http://c/s3/abc"},
      {"v6", {{"AWS_ENDPOINT_URL_S3", "http://[::1]:9000"}}, "abc", "x", "http://[::1]:9000/abc"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<S3Endpoint> endpoint = S3Endpoint::from(c.env);
    REQUIRE(endpoint);
    const S3Place place = endpoint->place(c.bucket, c.region);
    CHECK((place.origin.tls ? "https://" : "http://") + place.origin.authority() + place.path ==
          c.url);
  }
  for (const char* bad : {"minio:9000", "ftp://a", "http://", "http://u:p@h", "http://a b",
                          "http://a:0", "http://a?x=1"}) {
    CAPTURE(bad);
    const Result<S3Endpoint> endpoint = S3Endpoint::from({{"AWS_ENDPOINT_URL_S3", bad}});
    REQUIRE(!endpoint);
    CHECK(endpoint.error().code == Errc::invalid_input);
    CHECK(endpoint.error().text.find("S3 endpoint") != std::string::npos);
  }
}
