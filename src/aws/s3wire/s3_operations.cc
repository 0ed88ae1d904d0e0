#include "aws/s3wire/s3_operations.h"

#include <algorithm>
#include <array>

#include "aws/request_head.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

/// Words with spaces between them. A '*' at a word's end matches any rest.
using Words = std::string_view;

/// An operation: what asks for it, and what it takes. Whatever is on no list is refused by name.
struct Row {
  S3Op op;
  std::string_view name;
  std::string_view method;
  About about;
  std::string_view selector{};     ///< The parameter that asks for it; empty: none.
  bool copies = false;             ///< Asked for by x-amz-copy-source, too.
  Words parameters{};              ///< Besides the selector.
  std::array<Words, 3> headers{};  ///< Without "x-amz-", besides those of any request.
};

constexpr Words of_signatures =
    "x-amz-algorithm x-amz-credential x-amz-date x-amz-expires x-amz-signature x-amz-signedheaders "
    "x-amz-security-token x-amz-content-sha256 awsaccesskeyid signature expires";
/// Without "x-amz-". They say nothing to an operation that does not write what they describe, and
/// clients send them there, too: AWS's SDK for Java asks for an object with te: append-md5 and a
/// checksum of nothing, the one for C++ says api-version, minio-go's Complete repeats what Create
/// said of the object.
constexpr Words of_any_request =
    "user-agent api-version te sdk-checksum-algorithm decoded-content-length trailer "
    "checksum-algorithm checksum-type checksum-mode checksum-crc32 checksum-crc32c "
    "checksum-crc64nvme checksum-sha1 checksum-sha256 expected-bucket-owner "
    "source-expected-bucket-owner request-payer mfa bypass-governance-retention "
    "optional-object-attributes meta-* storage-class tagging website-redirect-location "
    "metadata-directive tagging-directive server-side-encryption "
    "server-side-encryption-aws-kms-key-id server-side-encryption-context "
    "server-side-encryption-bucket-key-enabled";

constexpr Words of_access = "acl grant-*";
constexpr Words of_lock = "object-lock-*";
constexpr Words of_copy =
    "copy-source copy-source-if-match copy-source-if-none-match copy-source-if-modified-since "
    "copy-source-if-unmodified-since";
constexpr Words of_reading =
    "versionId partNumber response-cache-control response-content-disposition "
    "response-content-encoding response-content-language response-content-type response-expires";

/// Settings of a bucket are all as S3 has them in a new bucket.
constexpr Row setting(std::string_view name, std::string_view selector) {
  const bool gets = name.starts_with("Get");
  return {.op = gets ? S3Op::get_bucket_setting : S3Op::delete_bucket_setting,
          .name = name,
          .method = gets ? "GET" : "DELETE",
          .about = About::bucket,
          .selector = selector};
}

/// The first that fits counts: those with a selector stand before those without.
constexpr std::array rows = {
    Row{.op = S3Op::list_buckets,
        .name = "ListBuckets",
        .method = "GET",
        .about = About::service,
        .parameters = "prefix continuation-token max-buckets bucket-region"},

    Row{S3Op::get_bucket_location, "GetBucketLocation", "GET", About::bucket, "location"},
    Row{S3Op::get_bucket_versioning, "GetBucketVersioning", "GET", About::bucket, "versioning"},
    Row{S3Op::get_bucket_acl, "GetBucketAcl", "GET", About::bucket, "acl"},
    Row{.op = S3Op::put_bucket_acl,
        .name = "PutBucketAcl",
        .method = "PUT",
        .about = About::bucket,
        .selector = "acl",
        .headers = {of_access}},
    setting("GetBucketAccelerateConfiguration", "accelerate"),
    setting("GetBucketCors", "cors"),
    setting("GetBucketEncryption", "encryption"),
    setting("GetBucketLifecycleConfiguration", "lifecycle"),
    setting("GetBucketLogging", "logging"),
    setting("GetBucketNotificationConfiguration", "notification"),
    setting("GetObjectLockConfiguration", "object-lock"),
    setting("GetBucketOwnershipControls", "ownershipControls"),
    setting("GetBucketPolicy", "policy"),
    setting("GetBucketPolicyStatus", "policyStatus"),
    setting("GetPublicAccessBlock", "publicAccessBlock"),
    setting("GetBucketReplication", "replication"),
    setting("GetBucketRequestPayment", "requestPayment"),
    setting("GetBucketTagging", "tagging"),
    setting("GetBucketWebsite", "website"),
    setting("DeleteBucketCors", "cors"),
    setting("DeleteBucketEncryption", "encryption"),
    setting("DeleteBucketLifecycle", "lifecycle"),
    setting("DeleteBucketOwnershipControls", "ownershipControls"),
    setting("DeleteBucketPolicy", "policy"),
    setting("DeletePublicAccessBlock", "publicAccessBlock"),
    setting("DeleteBucketReplication", "replication"),
    setting("DeleteBucketTagging", "tagging"),
    setting("DeleteBucketWebsite", "website"),
    // mc says metadata=true to both kinds of listings, which MinIO alone understands.
    Row{.op = S3Op::list_object_versions,
        .name = "ListObjectVersions",
        .method = "GET",
        .about = About::bucket,
        .selector = "versions",
        .parameters =
            "prefix delimiter encoding-type max-keys key-marker version-id-marker metadata"},
    Row{.op = S3Op::list_multipart_uploads,
        .name = "ListMultipartUploads",
        .method = "GET",
        .about = About::bucket,
        .selector = "uploads",
        .parameters = "prefix delimiter encoding-type max-uploads key-marker upload-id-marker"},
    Row{.op = S3Op::list_objects_v2,
        .name = "ListObjectsV2",
        .method = "GET",
        .about = About::bucket,
        .selector = "list-type",
        .parameters = "prefix delimiter encoding-type max-keys start-after continuation-token "
                      "fetch-owner metadata"},
    Row{.op = S3Op::list_objects,
        .name = "ListObjects",
        .method = "GET",
        .about = About::bucket,
        .parameters = "prefix delimiter encoding-type max-keys marker"},
    Row{S3Op::head_bucket, "HeadBucket", "HEAD", About::bucket, ""},
    Row{.op = S3Op::create_bucket,
        .name = "CreateBucket",
        .method = "PUT",
        .about = About::bucket,
        .headers = {of_access, "bucket-object-lock-enabled object-ownership"}},
    Row{S3Op::delete_bucket, "DeleteBucket", "DELETE", About::bucket, ""},
    Row{S3Op::delete_objects, "DeleteObjects", "POST", About::bucket, "delete"},

    Row{.op = S3Op::get_object_acl,
        .name = "GetObjectAcl",
        .method = "GET",
        .about = About::object,
        .selector = "acl",
        .parameters = "versionId"},
    Row{.op = S3Op::put_object_acl,
        .name = "PutObjectAcl",
        .method = "PUT",
        .about = About::object,
        .selector = "acl",
        .parameters = "versionId",
        .headers = {of_access}},
    Row{.op = S3Op::get_object_attributes,
        .name = "GetObjectAttributes",
        .method = "GET",
        .about = About::object,
        .selector = "attributes",
        .parameters = "versionId",
        .headers = {"object-attributes max-parts part-number-marker"}},
    Row{.op = S3Op::get_object_tagging,
        .name = "GetObjectTagging",
        .method = "GET",
        .about = About::object,
        .selector = "tagging",
        .parameters = "versionId"},
    Row{.op = S3Op::put_object_tagging,
        .name = "PutObjectTagging",
        .method = "PUT",
        .about = About::object,
        .selector = "tagging",
        .parameters = "versionId"},
    Row{.op = S3Op::delete_object_tagging,
        .name = "DeleteObjectTagging",
        .method = "DELETE",
        .about = About::object,
        .selector = "tagging",
        .parameters = "versionId"},
    Row{.op = S3Op::create_multipart_upload,
        .name = "CreateMultipartUpload",
        .method = "POST",
        .about = About::object,
        .selector = "uploads",
        .headers = {of_access, of_lock}},
    Row{.op = S3Op::upload_part_copy,
        .name = "UploadPartCopy",
        .method = "PUT",
        .about = About::object,
        .selector = "uploadId",
        .copies = true,
        .parameters = "partNumber",
        .headers = {of_copy, "copy-source-range"}},
    Row{.op = S3Op::upload_part,
        .name = "UploadPart",
        .method = "PUT",
        .about = About::object,
        .selector = "uploadId",
        .parameters = "partNumber"},
    Row{.op = S3Op::complete_multipart_upload,
        .name = "CompleteMultipartUpload",
        .method = "POST",
        .about = About::object,
        .selector = "uploadId",
        .headers = {"mp-object-size"}},
    Row{S3Op::abort_multipart_upload, "AbortMultipartUpload", "DELETE", About::object, "uploadId"},
    Row{.op = S3Op::list_parts,
        .name = "ListParts",
        .method = "GET",
        .about = About::object,
        .selector = "uploadId",
        .parameters = "max-parts part-number-marker"},
    Row{.op = S3Op::copy_object,
        .name = "CopyObject",
        .method = "PUT",
        .about = About::object,
        .copies = true,
        .headers = {of_copy, of_access, of_lock}},
    Row{.op = S3Op::put_object,
        .name = "PutObject",
        .method = "PUT",
        .about = About::object,
        .headers = {of_access, of_lock}},
    Row{.op = S3Op::get_object,
        .name = "GetObject",
        .method = "GET",
        .about = About::object,
        .parameters = of_reading},
    Row{.op = S3Op::head_object,
        .name = "HeadObject",
        .method = "HEAD",
        .about = About::object,
        .parameters = of_reading},
    Row{.op = S3Op::delete_object,
        .name = "DeleteObject",
        .method = "DELETE",
        .about = About::object,
        .parameters = "versionId",
        .headers = {"if-match-size if-match-last-modified-time"}},
};

bool same_text(std::string_view a, std::string_view b) {
  return a == b;
}

/// True if `name` is one of the words, which are alike by `alike`.
bool lists(Words words, std::string_view name,
           bool (*alike)(std::string_view, std::string_view) = same_text) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    std::string_view compared = name;
    if (word.ends_with('*')) {
      word.remove_suffix(1);
      compared = name.substr(0, word.size());
    }
    if (!word.empty() && alike(word, compared)) return true;
  }
  return false;
}

const Row* row_of(const Fields& fields, About about) {
  for (const Row& row : rows) {
    if (row.method != fields.head.method || row.about != about) continue;
    if (!row.selector.empty() && fields.parameter(row.selector) == nullptr) continue;
    if (row.copies && !fields.head.header("x-amz-copy-source")) continue;
    return &row;
  }
  return nullptr;
}

/// A parameter "x-amz-…" replaces a header; other "x-…" parameters have no meaning: SDKs send x-id.
bool takes_parameter(const Row* row, std::string_view name) {
  if (same_letters(name.substr(0, 2), "x-") || is_of_signature(name)) return true;
  return row != nullptr && (name == row->selector || lists(row->parameters, name));
}

/// Other headers than x-amz- ones are accepted: those that are not read have no effect.
bool takes_header(const Row* row, std::string_view name) {
  if (!aws::is_x_amz(name) || is_of_signature(name)) return true;
  name.remove_prefix(6);
  if (lists(of_any_request, name, same_letters)) return true;
  return row != nullptr && std::any_of(row->headers.begin(), row->headers.end(), [&](Words words) {
           return lists(words, name, same_letters);
         });
}

}  // namespace

aws::Refusal no_forms() {
  return aws::s3_refusal(
      "NotImplemented",
      "Browser uploads with POST forms are not implemented; use PUT with a presigned URL instead.");
}

aws::Refusal not_implemented(std::string_view name) {
  aws::Refusal error = aws::s3_refusal("NotImplemented");
  error.message += ": " + to_utf8(name.substr(0, 100));
  return error;
}

bool is_of_signature(std::string_view name) {
  return lists(of_signatures, name, same_letters);
}

bool is_of_version_2(std::string_view name) {
  return same_letters(name, "content-type") || same_letters(name, "content-md5");
}

Result<AskedOperation, aws::Refusal> asked_operation(const Fields& fields, About about) {
  const Row* row = row_of(fields, about);
  for (const auto& [name, value] : fields.query) {
    if (takes_parameter(row, name)) continue;
    if (is_of_version_2(name) && fields.parameter("AWSAccessKeyId") != nullptr) continue;
    if (row == nullptr || row->parameters != of_reading || !name.starts_with("response-"))
      return not_implemented(name);
    aws::Refusal error =
        aws::s3_refusal("InvalidArgument", "This response header cannot be overridden");
    error.more = {{"ArgumentName", to_utf8(name)}, {"ArgumentValue", to_utf8(value)}};
    return error;
  }
  for (const auto& [name, value] : fields.head.headers)
    if (!takes_header(row, name)) return not_implemented(name);
  if (row == nullptr) {
    const bool is_form = about == About::bucket && fields.head.method == "POST";
    return is_form ? no_forms() : aws::s3_refusal("MethodNotAllowed");
  }
  return AskedOperation{row->op, row->name, row->selector};
}

std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> names;
  names.reserve(rows.size());
  for (const Row& row : rows) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace muster::s3wire
