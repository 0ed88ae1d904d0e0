#include "aws/s3wire/s3_request.h"

#include <doctest/doctest.h>

#include "aws/s3wire/s3_listing.h"

using namespace muster;
using namespace muster::s3wire;

namespace {

using Headers = std::vector<aws::HeaderView>;
using Read = Result<S3Operation, aws::Refusal>;

Read read(std::string_view method, std::string_view target, const Headers& headers = {},
          std::string_view bucket = "") {
  return read_s3_request({method, target, headers}, bucket);
}

/// "PutObject bucket key", or the error's code.
std::string summary(const Read& got) {
  if (!got) return got.error().code;
  const auto& operation = *got;
  std::string text(operation.name);
  if (!operation.bucket.empty()) text += " " + operation.bucket;
  if (!operation.key.empty()) text += " " + operation.key;
  return text;
}

S3Operation good(const Read& got) {
  CHECK_MESSAGE(got, summary(got));
  return got ? *got : S3Operation();
}

}  // namespace

TEST_CASE("s3_request: method, path and query make an operation") {
  const Headers copy = {{"x-amz-copy-source", "/from/a%20b"}};
  const struct {
    const char* method;
    const char* target;
    const char* want;
    Headers headers = {};
  } cases[] = {
      {"GET", "/", "ListBuckets"},
      {"GET", "/?x-id=ListBuckets", "ListBuckets"},
      {"HEAD", "/", "MethodNotAllowed"},
      {"PUT", "/", "MethodNotAllowed"},
      {"PUT", "/bucket", "CreateBucket bucket"},
      {"PUT", "/bucket/", "CreateBucket bucket"},
      {"HEAD", "/bucket", "HeadBucket bucket"},
      {"DELETE", "/bucket", "DeleteBucket bucket"},
      {"GET", "/bucket", "ListObjects bucket"},
      {"GET", "/bucket?list-type=2", "ListObjectsV2 bucket"},
      {"GET", "/bucket?versions", "ListObjectVersions bucket"},
      {"GET", "/bucket?uploads", "ListMultipartUploads bucket"},
      {"GET", "/bucket?location", "GetBucketLocation bucket"},
      {"GET", "/bucket?location=", "GetBucketLocation bucket"},
      {"GET", "/bucket?versioning", "GetBucketVersioning bucket"},
      {"GET", "/bucket?acl", "GetBucketAcl bucket"},
      {"GET", "/bucket?lifecycle", "GetBucketLifecycleConfiguration bucket"},
      {"PUT", "/bucket?lifecycle", "NotImplemented"},
      {"PUT", "/bucket?versioning", "NotImplemented"},
      {"DELETE", "/bucket?policy", "DeleteBucketPolicy bucket"},
      {"POST", "/bucket?delete", "DeleteObjects bucket"},
      {"POST", "/bucket", "NotImplemented"},
      {"PATCH", "/bucket", "MethodNotAllowed"},
      {"GET", "/bucket/key", "GetObject bucket key"},
      {"GET", "/bucket/key?versionId=null", "GetObject bucket key"},
      {"GET", "/bucket/key?versionId=abc", "NoSuchVersion"},
      {"HEAD", "/bucket/key", "HeadObject bucket key"},
      {"GET", "/bucket/a/b%2Fc%20d+e", "GetObject bucket a/b/c d+e"},
      {"GET", "/bucket//a", "GetObject bucket /a"},
      {"GET", "/bucket/a/", "GetObject bucket a/"},
      {"GET", "/bucket/../a", "GetObject bucket ../a"},
      {"GET", "/bucket/%C3%A4", "GetObject bucket \xc3\xa4"},
      {"GET", "/bucket/key?acl", "GetObjectAcl bucket key"},
      {"GET", "/bucket/key?tagging", "GetObjectTagging bucket key"},
      {"GET", "/bucket/key?uploadId=x", "ListParts bucket key"},
      {"GET", "/bucket/key?torrent", "NotImplemented"},
      {"PUT", "/bucket/key", "PutObject bucket key"},
      {"PUT", "/bucket/key?x-id=PutObject", "PutObject bucket key"},
      {"PUT", "/bucket/key", "CopyObject bucket key", copy},
      {"PUT", "/bucket/key?partNumber=1&uploadId=x", "UploadPart bucket key"},
      {"PUT", "/bucket/key?partNumber=1&uploadId=x", "UploadPartCopy bucket key", copy},
      {"PUT", "/bucket/key?tagging", "PutObjectTagging bucket key"},
      {"PUT", "/bucket/key?acl", "AccessControlListNotSupported"},
      {"PUT", "/bucket/key?acl", "AccessControlListNotSupported", {{"x-amz-acl", "public-read"}}},
      {"PUT", "/bucket/key?acl", "PutObjectAcl bucket key", {{"x-amz-acl", "private"}}},
      {"PUT", "/bucket?acl", "PutBucketAcl bucket", {{"x-amz-acl", "private"}}},
      {"PUT",
       "/bucket/key?acl",
       "AccessControlListNotSupported",
       {{"x-amz-acl", "private"}, {"x-amz-grant-read", "id=1"}}},
      {"PUT", "/bucket/key", "PutObject bucket key", {{"x-amz-acl", "bucket-owner-full-control"}}},
      {"PUT", "/bucket/key", "AccessControlListNotSupported", {{"X-Amz-Acl", "public-read"}}},
      {"PUT", "/bucket/key?x-amz-acl=public-read", "AccessControlListNotSupported"},
      {"PUT", "/bucket/key", "AccessControlListNotSupported", {{"x-amz-grant-read", "id=1"}}},
      {"PUT", "/bucket", "AccessControlListNotSupported", {{"x-amz-acl", "authenticated-read"}}},
      {"PUT", "/bucket", "AccessControlListNotSupported", {{"x-amz-grant-write", "id=1"}}},
      {"POST", "/bucket/key?uploads", "AccessControlListNotSupported", {{"x-amz-acl", "a"}}},
      {"PUT",
       "/bucket/key",
       "AccessControlListNotSupported",
       {{"x-amz-copy-source", "/from/a"}, {"x-amz-acl", "public-read-write"}}},
      {"PUT", "/bucket/key", "InvalidRequest", {{"x-amz-object-lock-mode", "GOVERNANCE"}}},
      {"PUT", "/bucket/key", "InvalidRequest", {{"x-amz-object-lock-legal-hold", "OFF"}}},
      {"POST", "/bucket/key?uploads", "InvalidRequest", {{"x-amz-object-lock-mode", "x"}}},
      {"PUT", "/bucket", "NotImplemented", {{"x-amz-bucket-object-lock-enabled", "true"}}},
      {"PUT", "/bucket", "CreateBucket bucket", {{"x-amz-bucket-object-lock-enabled", "False"}}},
      {"PUT", "/bucket/key?retention", "NotImplemented"},
      {"DELETE", "/bucket/key", "DeleteObject bucket key"},
      {"DELETE", "/bucket/key?tagging", "DeleteObjectTagging bucket key"},
      {"DELETE", "/bucket/key?uploadId=x", "AbortMultipartUpload bucket key"},
      {"POST", "/bucket/key?uploads", "CreateMultipartUpload bucket key"},
      {"POST", "/bucket/key?uploadId=x", "CompleteMultipartUpload bucket key"},
      {"POST", "/bucket/key?restore", "NotImplemented"},
      {"POST", "/bucket/key", "MethodNotAllowed"},
      {"OPTIONS", "/bucket/key", "MethodNotAllowed"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.method);
    CAPTURE(c.target);
    CHECK(summary(read(c.method, c.target, c.headers)) == c.want);
  }
}

TEST_CASE("s3_request: a bucket in the host's name") {
  CHECK(summary(read("GET", "/a/b", {}, "bucket")) == "GetObject bucket a/b");
  CHECK(summary(read("GET", "/", {}, "bucket")) == "ListObjects bucket");
  CHECK(summary(read("GET", "//k", {}, "a.b")) == "GetObject a.b /k");
  CHECK(summary(read("GET", "/k", {}, "BUCKET")) == "InvalidBucketName");
}

TEST_CASE("s3_request: names of buckets") {
  for (const char* name : {"abc", "a-b", "a.b", "1a2", "192.168.1", "192.168.1.1a", "a--b"})
    CHECK(is_bucket_name(name));
  CHECK(is_bucket_name(std::string(63, 'a')));
  for (const char* name : {"", "a", "ab", "Abc", "a_b", "-ab", "ab-", ".ab", "ab.", "a..b", "a.-b",
                           "a-.b", "192.168.1.1", "a b", "a/b",
                           "\xc3\xa4"
                           "bc"})
    CHECK(!is_bucket_name(name));
  CHECK(!is_bucket_name(std::string(64, 'a')));
}

TEST_CASE("s3_request: malformed requests are refused with S3's code") {
  const std::string long_key = "/bucket/" + std::string(1025, 'k');
  const std::string metadata(2100, 'm');
  const struct {
    const char* name;
    const char* method;
    std::string target;
    Headers headers;
    const char* code;
  } cases[] = {
      {"no slash", "GET", "bucket", {}, "InvalidURI"},
      {"a broken escape", "GET", "/bucket/%zz", {}, "InvalidURI"},
      {"a cut escape", "GET", "/bucket/%4", {}, "InvalidURI"},
      {"no UTF-8", "GET", "/bucket/%ff", {}, "InvalidURI"},
      {"a NUL", "GET", "/bucket/%00", {}, "InvalidURI"},
      {"a broken query", "GET", "/bucket?a=%", {}, "InvalidURI"},
      {"a bucket's name", "GET", "/Bucket_/k", {}, "InvalidBucketName"},
      {"a bucket of bytes", "GET", "/%ff%fe%fd", {}, "InvalidBucketName"},
      {"no bucket", "GET", "//k", {}, "InvalidBucketName"},
      {"a long key", "PUT", long_key, {}, "KeyTooLongError"},
      {"max-keys", "GET", "/bucket?max-keys=x", {}, "InvalidArgument"},
      {"max-keys below zero", "GET", "/bucket?max-keys=-1", {}, "InvalidArgument"},
      {"encoding-type", "GET", "/bucket?encoding-type=x", {}, "InvalidArgument"},
      {"list-type", "GET", "/bucket?list-type=3", {}, "InvalidArgument"},
      {"an empty token", "GET", "/bucket?list-type=2&continuation-token=", {}, "InvalidArgument"},
      {"no token", "GET", "/bucket?list-type=2&continuation-token=xyz", {}, "InvalidArgument"},
      {"part 0", "PUT", "/bucket/k?partNumber=0&uploadId=x", {}, "InvalidArgument"},
      {"part 10001", "PUT", "/bucket/k?partNumber=10001&uploadId=x", {}, "InvalidArgument"},
      {"no part", "PUT", "/bucket/k?uploadId=x", {}, "InvalidArgument"},
      {"a bad MD5", "PUT", "/bucket/k", {{"Content-MD5", "abc"}}, "InvalidDigest"},
      {"an empty MD5", "PUT", "/bucket/k", {{"Content-MD5", ""}}, "InvalidDigest"},
      {"a short MD5", "PUT", "/bucket/k", {{"Content-MD5", "AAAA"}}, "InvalidDigest"},
      {"a bad checksum", "PUT", "/bucket/k", {{"x-amz-checksum-crc32", "AAAA"}}, "InvalidRequest"},
      {"two checksums",
       "PUT",
       "/bucket/k",
       {{"x-amz-checksum-crc32", "AAAAAA=="}, {"x-amz-checksum-crc32c", "AAAAAA=="}},
       "InvalidRequest"},
      {"an unknown checksum",
       "PUT",
       "/bucket/k",
       {{"x-amz-sdk-checksum-algorithm", "CRC16"}},
       "InvalidRequest"},
      {"an unknown trailer",
       "PUT",
       "/bucket/k",
       {{"x-amz-trailer", "x-amz-meta-a"}},
       "InvalidRequest"},
      {"a trailer of a kind's short name",
       "PUT",
       "/bucket/k",
       {{"x-amz-trailer", "CRC32"}},
       "InvalidRequest"},
      {"a trailer beside a checksum of another kind",
       "PUT",
       "/bucket/k",
       {{"x-amz-checksum-crc32c", "AAAAAA=="}, {"x-amz-trailer", "x-amz-checksum-crc32"}},
       "InvalidRequest"},
      {"a trailer of another kind than announced",
       "PUT",
       "/bucket/k",
       {{"x-amz-sdk-checksum-algorithm", "SHA256"}, {"x-amz-trailer", "x-amz-checksum-crc32"}},
       "InvalidRequest"},
      {"a trailer beside an MD5",
       "PUT",
       "/bucket/k",
       {{"x-amz-sdk-checksum-algorithm", "MD5"}, {"x-amz-trailer", "x-amz-checksum-crc32"}},
       "InvalidRequest"},
      {"SHA-1 over parts",
       "POST",
       "/bucket/k?uploads",
       {{"x-amz-checksum-algorithm", "SHA1"}, {"x-amz-checksum-type", "FULL_OBJECT"}},
       "InvalidRequest"},
      {"CRC64NVME of parts",
       "POST",
       "/bucket/k?uploads",
       {{"x-amz-checksum-algorithm", "CRC64NVME"}, {"x-amz-checksum-type", "COMPOSITE"}},
       "InvalidRequest"},
      {"much metadata", "PUT", "/bucket/k", {{"x-amz-meta-a", metadata}}, "MetadataTooLarge"},
      {"a length", "PUT", "/bucket/k", {{"Content-Length", "x"}}, "InvalidArgument"},
      {"a length below zero", "PUT", "/bucket/k", {{"Content-Length", "-1"}}, "InvalidArgument"},
      {"chunks of no length",
       "PUT",
       "/bucket/k",
       {{"x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}},
       "MissingContentLength"},
      {"tags", "PUT", "/bucket/k", {{"x-amz-tagging", "a=1&a=2"}}, "InvalidTag"},
      {"a key of the client's",
       "PUT",
       "/bucket/k",
       {{"x-amz-server-side-encryption-customer-algorithm", "AES256"}},
       "NotImplemented"},
      {"a copy of nothing", "PUT", "/bucket/k", {{"x-amz-copy-source", "/"}}, "InvalidArgument"},
      {"a copy of a bucket",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "from/"}},
       "InvalidArgument"},
      {"a copy of bytes",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "from/%zz"}},
       "InvalidArgument"},
      {"a copy of a version",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "from/k?versionId=1"}},
       "NoSuchVersion"},
      {"a copy onto itself",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "bucket/k"}},
       "InvalidRequest"},
      {"a copy onto itself with tags alone",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "bucket/k"}, {"x-amz-tagging-directive", "REPLACE"}},
       "InvalidRequest"},
      {"a directive",
       "PUT",
       "/bucket/k",
       {{"x-amz-copy-source", "from/k"}, {"x-amz-metadata-directive", "MOVE"}},
       "InvalidArgument"},
      {"a range of a copy",
       "PUT",
       "/bucket/k?partNumber=1&uploadId=x",
       {{"x-amz-copy-source", "from/k"}, {"x-amz-copy-source-range", "bytes=5-"}},
       "InvalidArgument"},
      {"no attributes", "GET", "/bucket/k?attributes", {}, "InvalidArgument"},
      {"no number of parts",
       "GET",
       "/bucket/k?attributes",
       {{"x-amz-object-attributes", "ETag"}, {"x-amz-max-parts", "-1"}},
       "InvalidArgument"},
      {"no size to delete by",
       "DELETE",
       "/bucket/k",
       {{"x-amz-if-match-size", "x"}},
       "InvalidArgument"},
      {"no time to delete by",
       "DELETE",
       "/bucket/k",
       {{"x-amz-if-match-last-modified-time", "today"}},
       "InvalidArgument"},
      {"no buckets", "GET", "/?max-buckets=0", {}, "InvalidArgument"},
      {"no token of buckets", "GET", "/?continuation-token=xyz", {}, "InvalidArgument"},
      {"an attribute",
       "GET",
       "/bucket/k?attributes",
       {{"x-amz-object-attributes", "Color"}},
       "InvalidArgument"},
      {"a header through the query",
       "GET",
       "/bucket/k?response-content-type=a%0d%0aSet-Cookie:b",
       {},
       "InvalidArgument"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(summary(read(c.method, c.target, c.headers)) == c.code);
  }
}

TEST_CASE("s3_request: the parameters of a listing") {
  ListQuery list = good(read("GET",
                             "/bucket?prefix=a%2Fb+c&delimiter=%2F&marker=m&max-keys=5000"
                             "&encoding-type=url"))
                       .list;
  CHECK(list.prefix == "a/b c");
  CHECK(list.delimiter == "/");
  CHECK(list.marker == "m");
  CHECK(list.after == "m");
  CHECK(list.max == 1000);
  CHECK(list.url_encoding);
  const std::string v2 = "/bucket?list-type=2&start-after=s&fetch-owner=true&max-keys=2";
  list = good(read("GET", v2)).list;
  CHECK(list.after == "s");
  CHECK(list.fetch_owner);
  CHECK(list.max == 2);
  CHECK(!list.has_continuation);
  list = good(read("GET", v2 + "&continuation-token=" + continuation_token("t"))).list;
  CHECK(list.marker == "s");
  CHECK(list.after == "t");
  CHECK(list.has_continuation);
  list = good(read("GET", "/bucket?uploads&key-marker=k&upload-id-marker=u&max-uploads=3")).list;
  CHECK(list.marker == "k");
  CHECK(list.continuation == "u");
  CHECK(list.max == 3);
  list = good(read("GET", "/bucket/k?uploadId=x&part-number-marker=7&max-parts=2")).list;
  CHECK(list.part_marker == 7);
  CHECK(list.max == 2);
  CHECK(good(read("GET", "/bucket?versions&key-marker=k")).list.after == "k");
}

TEST_CASE("s3_request: the fields of a request with a body") {
  const S3Operation put = good(read("PUT", "/bucket/k",
                                    {{"Content-Length", "100"},
                                     {"Content-Encoding", "aws-chunked, gzip"},
                                     {"X-Amz-Content-SHA256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"},
                                     {"X-Amz-Decoded-Content-Length", "42"},
                                     {"X-Amz-Trailer", "X-Amz-Checksum-CRC32"},
                                     {"Content-Type", "text/plain"},
                                     {"X-Amz-Meta-A", "1"},
                                     {"x-amz-meta-a", "2"},
                                     {"X-Amz-Meta-Bc", "x"},
                                     {"X-Amz-Tagging", "t=1"},
                                     {"If-None-Match", "*"},
                                     {"x-amz-server-side-encryption", "aws:kms"}}));
  CHECK(put.aws_chunked);
  CHECK(put.content_bytes == 42);
  CHECK(put.trailer == "x-amz-checksum-crc32");
  CHECK(put.checksum == GivenChecksum{Checksum::crc32, ""});
  CHECK(put.metadata.headers ==
        aws::Pairs{{"content-encoding", "gzip"}, {"content-type", "text/plain"}});
  CHECK(put.metadata.user == aws::Pairs{{"a", "1,2"}, {"bc", "x"}});
  CHECK(put.metadata.tags == aws::Pairs{{"t", "1"}});
  CHECK(put.conditions.if_none_match == "*");
  const S3Operation plain = good(read("PUT", "/bucket/k",
                                      {{"Content-Length", "5"},
                                       {"x-amz-checksum-crc32", "AAAAAQ=="},
                                       {"x-amz-sdk-checksum-algorithm", "CRC32"},
                                       {"Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="},
                                       {"Content-Encoding", "aws-chunked"}}));
  CHECK(!plain.aws_chunked);
  CHECK(plain.content_bytes == 5);
  CHECK(plain.checksum == GivenChecksum{Checksum::crc32, std::string("\0\0\0\1", 4)});
  CHECK(plain.content_md5->size() == 16);
  CHECK(plain.metadata.headers.empty());
  const S3Operation create =
      good(read("POST", "/bucket/k?uploads", {{"x-amz-checksum-algorithm", "crc64nvme"}}));
  CHECK(create.checksum == GivenChecksum{Checksum::crc64nvme, ""});
  CHECK(create.whole_checksum);
  const S3Operation complete =
      good(read("POST", "/bucket/k?uploadId=x",
                {{"x-amz-checksum-crc32", "AAAAAQ==-3"}, {"x-amz-mp-object-size", "7"}}));
  CHECK(complete.checksum == GivenChecksum{Checksum::crc32, std::string("\0\0\0\1", 4)});
  CHECK(complete.whole_bytes == 7);
  CHECK(complete.upload_id == "x");
}

TEST_CASE("s3_request: headers in a presigned URL count, unless they are also sent as headers") {
  const std::string target =
      "/bucket/k?X-Amz-Algorithm=a&X-Amz-Date=d&x-amz-meta-a=1&X-Amz-Meta-B=2"
      "&x-amz-tagging=t%3D1&x-amz-sdk-checksum-algorithm=CRC32";
  // The SDK for JavaScript signs the checksum of nothing: it does not know the body yet.
  const S3Operation put =
      good(read("PUT", target + "&x-amz-checksum-crc32=AAAAAA%3D%3D", {{"x-amz-meta-b", "3"}}));
  CHECK(put.metadata.user == aws::Pairs{{"b", "3"}, {"a", "1"}});
  CHECK(put.metadata.tags == aws::Pairs{{"t", "1"}});
  CHECK(put.checksum == GivenChecksum{Checksum::crc32, ""});
}

TEST_CASE("s3_request: the fields of a read, and of a copy") {
  const S3Operation get = good(read("GET", "/bucket/k?response-content-type=a%2Fb&partNumber=2",
                                    {{"Range", "bytes=5-9"},
                                     {"If-Match", "\"e\""},
                                     {"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                     {"If-Unmodified-Since", "yesterday"},
                                     {"x-amz-checksum-mode", "ENABLED"}}));
  CHECK(get.response_headers == aws::Pairs{{"content-type", "a/b"}});
  CHECK(get.part_number == 2);
  CHECK(get.range->first == 5);
  CHECK(get.range->last == 9);
  CHECK(get.conditions.if_modified_since == UnixMillis(784111777000));
  CHECK(!get.conditions.if_unmodified_since);
  CHECK(get.want_checksum);
  const S3Operation copy = good(read("PUT", "/bucket/k",
                                     {{"x-amz-copy-source", "/from/a%2Bb+c?versionId=null"},
                                      {"x-amz-copy-source-if-match", "e"},
                                      {"x-amz-metadata-directive", "REPLACE"},
                                      {"x-amz-meta-a", "1"}}));
  CHECK(copy.copy_source == S3Url{"from", "a+b c"});
  CHECK(copy.replace_metadata);
  CHECK(!copy.replace_tags);
  CHECK(copy.copy_conditions.if_match == "e");
  CHECK(copy.conditions.none());
  CHECK(summary(read("PUT", "/bucket/k",
                     {{"x-amz-copy-source", "bucket/k"},
                      {"x-amz-metadata-directive", "REPLACE"}})) == "CopyObject bucket k");
  CHECK(good(read("GET", "/bucket/k?attributes",
                  {{"x-amz-object-attributes", "ETag, ObjectSize"},
                   {"X-Amz-Object-Attributes", "Checksum"}}))
            .attributes == std::vector<std::string>{"ETag", "ObjectSize", "Checksum"});
  const Conditions removal =
      good(read("DELETE", "/bucket/k",
                {{"x-amz-if-match-size", "7"},
                 {"x-amz-if-match-last-modified-time", "Thu, 01 Jan 1970 00:00:01 GMT"}}))
          .conditions;
  CHECK(removal.if_match_size == 7);
  CHECK(removal.if_match_modified == UnixMillis(1000));
  CHECK(good(read("GET", "/?max-buckets=3&continuation-token=" + continuation_token("b")))
            .list.after == "b");
}

TEST_CASE("s3_request: the coding of a body is kept as it came, but for aws-chunked") {
  const struct {
    const char* came;
    const char* kept;
  } cases[] = {{"gzip", "gzip"},
               {"deflate, gzip", "deflate, gzip"},
               {"gzip, aws-chunked", "gzip"},
               {"a, AWS-chunked, b", "a,b"},
               {"aws-chunked,aws-chunked", ""}};
  for (const auto& c : cases) {
    CAPTURE(c.came);
    aws::Pairs want;
    if (*c.kept != '\0') want = {{"content-encoding", c.kept}};
    CHECK(good(read("PUT", "/bucket/k", {{"content-encoding", c.came}})).metadata.headers == want);
  }
}

TEST_CASE("s3_request: ranges, of an object of ten bytes") {
  const struct {
    const char* text;
    std::optional<ByteSpan> span;
    bool whole = false;  ///< The header counts as none.
  } cases[] = {
      {"bytes=0-0", ByteSpan{0, 1}},
      {"bytes=2-5", ByteSpan{2, 4}},
      {"bytes=2-", ByteSpan{2, 8}},
      {"bytes=2-100", ByteSpan{2, 8}},
      {"bytes=9-", ByteSpan{9, 1}},
      {"bytes=10-", std::nullopt},
      {"bytes=10-20", std::nullopt},
      {"bytes=-3", ByteSpan{7, 3}},
      {"bytes=-100", ByteSpan{0, 10}},
      {"bytes=-0", std::nullopt},
      {"bytes=5-2", std::nullopt, true},
      {"bytes=a-b", std::nullopt, true},
      {"bytes=1-2,4-5", std::nullopt, true},
      {"bytes=-", std::nullopt, true},
      {"bytes=", std::nullopt, true},
      {"lines=1-2", std::nullopt, true},
      {"bytes=99999999999999999999-", std::nullopt, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const S3Operation get = good(read("GET", "/bucket/k", {{"Range", c.text}}));
    CHECK(get.range.has_value() == !c.whole);
    if (get.range) CHECK(resolved(*get.range, 10) == c.span);
  }
  CHECK(!resolved({0, 5}, 0));
  CHECK(!resolved({std::nullopt, 5}, 0));
  CHECK(content_range({2, 4}, 10) == "bytes 2-5/10");
}

TEST_CASE("s3_request: conditions") {
  const UnixMillis at{1000000};
  const auto precondition = [&](const Conditions& c) { return read_precondition(c, "e", at); };
  const auto conditions = [](std::string match, std::string none_match,
                             std::optional<UnixMillis> since = {},
                             std::optional<UnixMillis> unmodified = {}) {
    return Conditions{std::move(match), std::move(none_match), since, unmodified};
  };
  const UnixMillis before{999000};
  const UnixMillis same{1000500};  // Within the same second.
  CHECK(precondition({}) == Precondition::proceed);
  CHECK(precondition(conditions("\"e\"", "")) == Precondition::proceed);
  CHECK(precondition(conditions("e", "")) == Precondition::proceed);
  CHECK(precondition(conditions("*", "")) == Precondition::proceed);
  CHECK(precondition(conditions("\"x\", W/\"e\"", "")) == Precondition::proceed);
  CHECK(precondition(conditions("\"x\"", "")) == Precondition::failed);
  CHECK(precondition(conditions("\"\"", "")) == Precondition::failed);
  CHECK(precondition(conditions("", "\"e\"")) == Precondition::not_modified);
  CHECK(precondition(conditions("", "*")) == Precondition::not_modified);
  CHECK(precondition(conditions("", "\"x\"")) == Precondition::proceed);
  CHECK(precondition(conditions("", "", same)) == Precondition::not_modified);
  CHECK(precondition(conditions("", "", before)) == Precondition::proceed);
  CHECK(precondition(conditions("", "\"x\"", same)) == Precondition::proceed);
  CHECK(precondition(conditions("", "", std::nullopt, same)) == Precondition::proceed);
  CHECK(precondition(conditions("", "", std::nullopt, before)) == Precondition::failed);
  CHECK(precondition(conditions("\"e\"", "", std::nullopt, before)) == Precondition::proceed);
  CHECK(copy_precondition(conditions("", "\"e\""), "e", at) == Precondition::failed);
  CHECK(write_precondition({}, std::nullopt) == Precondition::proceed);
  CHECK(write_precondition(conditions("", "*"), std::nullopt) == Precondition::proceed);
  CHECK(write_precondition(conditions("", "*"), "e") == Precondition::failed);
  CHECK(write_precondition(conditions("\"e\"", ""), "e") == Precondition::proceed);
  CHECK(write_precondition(conditions("\"e\"", ""), "f") == Precondition::failed);
  CHECK(write_precondition(conditions("*", ""), std::nullopt) == Precondition::failed);
}

TEST_CASE("s3_request: a copy onto itself that changes something") {
  const Headers changes = {{"x-amz-metadata-directive", "REPLACE"},
                           {"x-amz-storage-class", "STANDARD_IA"},
                           {"x-amz-server-side-encryption", "AES256"},
                           {"x-amz-server-side-encryption-aws-kms-key-id", "k"},
                           {"x-amz-website-redirect-location", "/there"}};
  for (const aws::HeaderView& change : changes)
    CHECK(summary(read("PUT", "/bucket/k", {{"x-amz-copy-source", "/bucket/k"}, change})) ==
          "CopyObject bucket k");
}

TEST_CASE("s3_request: an empty range of a copied part is ignored") {
  const S3Operation copy =
      good(read("PUT", "/bucket/k?partNumber=1&uploadId=x",
                {{"x-amz-copy-source", "/from/a"}, {"x-amz-copy-source-range", ""}}));
  CHECK(copy.op == S3Op::upload_part_copy);
  CHECK(!copy.range);
}

TEST_CASE("s3_request: If-Range") {
  const UnixMillis modified{784111777500};  // Half a second behind what the date says.
  const struct {
    const char* if_range;
    bool holds;
  } cases[] = {{"", true},
               {"\"abc\"", true},
               {"abc", true},
               {"\"abd\"", false},
               {"W/\"abc\"", false},
               {"\"abc\", \"abd\"", false},
               {"*", false},
               {"Sun, 06 Nov 1994 08:49:37 GMT", true},
               {"Sun, 06 Nov 1994 08:49:38 GMT", false},
               {"Sun, 06 Nov 1994 08:49:36 GMT", false},
               {"yesterday", false}};
  for (const auto& c : cases) {
    CAPTURE(c.if_range);
    CHECK(range_holds(c.if_range, "abc", modified) == c.holds);
  }
  CHECK(good(read("GET", "/bucket/k", {{"If-Range", "\"e\""}})).if_range == "\"e\"");
}
