#include "aws/s3wire/s3_operations.h"

#include <doctest/doctest.h>

#include <set>

using namespace muster;
using namespace muster::s3wire;

namespace {

using Headers = std::vector<aws::HeaderView>;

/// "PutObject", or "NotImplemented: annotation".
std::string asked(std::string_view method, std::string_view target, const Headers& headers = {}) {
  const Result<S3Operation, aws::Refusal> read = read_s3_request({method, target, headers}, {});
  if (read) return std::string(read->name);
  const std::string& message = read.error().message;
  const std::size_t colon = message.find(": ");
  return read.error().code + (colon == std::string::npos ? "" : message.substr(colon));
}

}  // namespace

TEST_CASE("s3_operations: parameters that an operation does not list are refused by name") {
  const struct {
    const char* method;
    const char* target;
    const char* want;
    Headers headers = {};
  } cases[] = {
      // What S3 has besides, and might be taken for an object's or a bucket's own operation.
      {"PUT", "/b-1/k?annotation&annotationName=n", "NotImplemented: annotation"},
      {"DELETE", "/b-1/k?annotation&annotationName=n", "NotImplemented: annotation"},
      {"GET", "/b-1/k?annotation", "NotImplemented: annotation"},
      {"GET", "/b-1?session", "NotImplemented: session"},
      {"PUT", "/b-1?abac", "NotImplemented: abac"},
      {"DELETE", "/b-1?metadataTable", "NotImplemented: metadataTable"},
      {"PUT", "/b-1/k?renameObject", "NotImplemented: renameObject"},
      {"PUT", "/b-1/k?legal-hold", "NotImplemented: legal-hold"},
      {"POST", "/b-1/k?select&select-type=2", "NotImplemented: select"},
      {"POST", "/b-1/k?append&position=0", "NotImplemented: append"},
      {"HEAD", "/b-1/k?acl", "NotImplemented: acl"},
      {"HEAD", "/b-1?anything", "NotImplemented: anything"},
      {"GET", "/?max-directory-buckets=1", "NotImplemented: max-directory-buckets"},
      {"POST",
       "/WriteGetObjectResponse",
       "NotImplemented: x-amz-request-route",
       {{"x-amz-request-route", "r"}}},
      // A part without its upload is not an object.
      {"PUT", "/b-1/k?partNumber=1", "NotImplemented: partNumber"},
      {"DELETE", "/b-1/k?uploadID=1", "NotImplemented: uploadID"},
      // Two at once.
      {"GET", "/b-1?acl&location", "NotImplemented: acl"},
      {"GET", "/b-1/k?acl&uploadId=x", "NotImplemented: uploadId"},
      {"POST", "/b-1/k?uploads&uploadId=x", "NotImplemented: uploadId"},
      {"PUT", "/b-1/k?a%26b", "NotImplemented: a&b"},
      // Headers.
      {"PUT",
       "/b-1/k",
       "NotImplemented: x-amz-write-offset-bytes",
       {{"x-amz-write-offset-bytes", "5"}}},
      {"PUT", "/b-1/k", "NotImplemented: X-Amz-Rename-Source", {{"X-Amz-Rename-Source", "/b-1/a"}}},
      {"PUT", "/b-1/k", "NotImplemented: x-amz-checksum-md5", {{"x-amz-checksum-md5", "AA=="}}},
      {"GET", "/b-1/k", "NotImplemented: x-amz-copy-source", {{"x-amz-copy-source", "/b-1/a"}}},
      {"DELETE",
       "/b-1/k?uploadId=u",
       "NotImplemented: x-amz-if-match-initiated-time",
       {{"x-amz-if-match-initiated-time", "x"}}},
      {"GET",
       "/b-1/k",
       "NotImplemented: x-amz-server-side-encryption-customer-key",
       {{"x-amz-server-side-encryption-customer-key", "x"}}},
      {"PUT", "/b-1/k", "NotImplemented: x-amz-meta", {{"x-amz-meta", "x"}}},
      // A parameter that replaces a header counts as the header.
      {"PUT", "/b-1/k?x-amz-write-offset-bytes=5", "NotImplemented: x-amz-write-offset-bytes"},
      {"PUT", "/b-1/k?X-Amz-Anything=5", "NotImplemented: X-Amz-Anything"},
      {"PUT", "/b-1/k?x-amz-meta-a=1&x-amz-tagging=a%3D1", "PutObject"},
      {"PUT", "/b-1/k?x-amz-copy-source=%2Fb-1%2Fa", "CopyObject"},
      // What may be overridden, and where.
      {"GET", "/b-1/k?response-expires=x&response-content-type=a", "GetObject"},
      {"HEAD", "/b-1/k?response-cache-control=x", "HeadObject"},
      {"GET", "/b-1/k?response-server=x", "InvalidArgument"},
      {"HEAD", "/b-1/k?response-=x", "InvalidArgument"},
      {"GET", "/b-1?response-expires=x", "NotImplemented: response-expires"},
      {"PUT", "/b-1/k?response-expires=x", "NotImplemented: response-expires"},
      // What means nothing anywhere.
      {"PUT", "/b-1/k?x-id=PutObject&x-anything", "PutObject"},
      {"GET", "/b-1/k?AWSAccessKeyId=a&Signature=b&Expires=1", "GetObject"},
      {"GET", "/b-1/k?X-Amz-Algorithm=a&x-amz-credential=b&X-Amz-Security-Token=c", "GetObject"},
      {"GET", "/b-1?list-type=2&metadata=true", "ListObjectsV2"},
      {"GET", "/b-1?versions&metadata=true", "ListObjectVersions"},
      {"GET",
       "/b-1/k",
       "GetObject",
       {{"x-amz-te", "append-md5"},
        {"x-amz-checksum-crc32", "AAAAAA=="},
        {"x-amz-api-version", "2006-03-01"},
        {"x-amz-user-agent", "aws-sdk-js"},
        {"x-minio-extract", "true"},
        {"x-anything", "1"},
        {"anything", "1"}}},
      {"POST",
       "/b-1/k?uploadId=x",
       "CompleteMultipartUpload",
       {{"x-amz-meta-a", "1"}, {"x-amz-storage-class", "STANDARD"}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.method);
    CAPTURE(c.target);
    CHECK(asked(c.method, c.target, c.headers) == c.want);
  }
}

TEST_CASE("s3_operations: each operation has one name") {
  const std::vector<std::string_view> names = operation_names();
  CHECK(std::set(names.begin(), names.end()).size() == names.size());
}
