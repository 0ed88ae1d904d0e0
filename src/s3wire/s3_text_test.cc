#include <doctest/doctest.h>

#include "aws/endpoint.h"
#include "aws/xml.h"
#include "s3wire/s3_url.h"

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

TEST_CASE("s3_url: what is no URL is said in one line") {
  const std::string long_key(1025, 'k');
  struct {
    std::string text;
    const char* want;
  } const cases[] = {
      {"", ": no S3 URL, want s3://bucket/key"},
      {"/opt/ml", "/opt/ml: no S3 URL, want s3://bucket/key"},
      {"S3://b/k", "S3://b/k: no S3 URL, want s3://bucket/key"},
      {"s3://", "s3://: no bucket in it, want s3://bucket/key"},
      {"s3:///key", "s3:///key: no bucket in it, want s3://bucket/key"},
      {"s3://bucket", "s3://bucket/: no key in it, want s3://bucket/key"},
      {"s3://bucket/", "s3://bucket/: no key in it, want s3://bucket/key"},
      {"s3://b\n/k", "s3://b?/k: a bucket's name has letters, digits, '-', '.' and '_' only"},
      {"s3://b@h/k", "s3://b@h/k: a bucket's name has letters, digits, '-', '.' and '_' only"},
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

TEST_CASE("endpoint: the region comes from the first variable that is set") {
  CHECK(*aws::region_from({}) == "us-east-1");
  CHECK(*aws::region_from({{"SAGEMAKER_REGION", "eu-west-1"}}) == "eu-west-1");
  CHECK(*aws::region_from({{"SAGEMAKER_REGION", "a"}, {"AWS_DEFAULT_REGION", "b"}}) == "b");
  CHECK(*aws::region_from({{"AWS_DEFAULT_REGION", "b"}, {"AWS_REGION", "c"}}) == "c");
  CHECK(*aws::region_from({{"AWS_REGION", ""}, {"AWS_DEFAULT_REGION", "b"}}) == "b");
  CHECK(!aws::region_from({{"AWS_REGION", "evil.example/"}}));
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
    const Result<aws::S3Endpoint> endpoint = aws::S3Endpoint::from(c.env);
    REQUIRE(endpoint);
    const aws::S3Place place = endpoint->place(c.bucket, c.region);
    CHECK((place.origin.tls ? "https://" : "http://") + place.origin.authority() + place.path ==
          c.url);
  }
  for (const char* bad : {"minio:9000", "ftp://a", "http://", "http://u:p@h", "http://a b",
                          "http://a:0", "http://a?x=1"}) {
    CAPTURE(bad);
    const Result<aws::S3Endpoint> endpoint = aws::S3Endpoint::from({{"AWS_ENDPOINT_URL_S3", bad}});
    REQUIRE(!endpoint);
    CHECK(endpoint.error().code == Errc::invalid_input);
    CHECK(endpoint.error().text.find("S3 endpoint") != std::string::npos);
  }
}

TEST_CASE("xml: texts of plain elements, and nothing of what is broken") {
  struct {
    const char* xml;
    const char* name;
    std::optional<std::string> want;
  } const cases[] = {
      {"<Error><Code>NoSuchKey</Code></Error>", "Code", "NoSuchKey"},
      {"<R xmlns=\"x\"><UploadId>a&amp;b&lt;&gt;&quot;&apos;</UploadId></R>", "UploadId",
       "a&b<>\"'"},
      {"<a>&#65;&#x42;&#x20AC;</a>", "a", "AB\xe2\x82\xac"},
      {"<a>&nope; &</a>", "a", "&nope; &"},
      {"<a>&#xD800;</a>", "a", ""},
      {"<CodeX>1</CodeX><Code>2</Code>", "Code", "2"},
      {"<Code attribute=\"1\">2</Code>", "Code", "2"},
      {"<a></a>", "a", ""},
      {"<a/>", "a", std::nullopt},
      {"<a b='1'/>", "a", std::nullopt},
      {"<a>1", "a", std::nullopt},
      {"<a", "a", std::nullopt},
      {"<a><b>1</b></a>", "a", std::nullopt},
      {"", "a", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.xml);
    CHECK(aws::xml_text(c.xml, c.name) == c.want);
  }
  CHECK(aws::xml_escaped("\"a\"<&>") == "&quot;a&quot;&lt;&amp;&gt;");
}

TEST_CASE("xml: a failure's code and message fit in a line") {
  const aws::S3Failure failure = aws::s3_failure(
      "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>Please\nreduce\x01 it"
      "</Message><Region>eu-west-1</Region></Error>");
  CHECK(failure.code == "SlowDown");
  CHECK(failure.message == "Please reduce  it");
  CHECK(failure.region == "eu-west-1");
  CHECK(aws::s3_failure("<html>502 Bad Gateway</html>").code.empty());
  CHECK(aws::s3_failure("<Error><Message>" + std::string(5000, 'm') + "</Message></Error>")
            .message.size() <= 300);
}
