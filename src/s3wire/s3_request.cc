#include "s3wire/s3_request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "s3wire/s3_fields.h"
#include "s3wire/s3_key.h"

namespace muster::s3wire {
namespace {

/// What a request is about, before its fields are read.
struct Place {
  std::string bucket;
  std::string key;
};

Result<Place, aws::Refusal> place_of(const aws::RequestHead& head, std::string_view domain) {
  std::string_view path = head.path();
  if (!path.starts_with('/')) return aws::s3_refusal("InvalidURI");
  path.remove_prefix(1);
  std::string_view bucket = bucket_of_host(head.header("host").value_or(""), domain);
  if (bucket.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    bucket = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  std::optional<std::string> name = aws::percent_decoded(bucket, false);
  std::optional<std::string> key = aws::percent_decoded(path, false);
  if (!name || !key || !is_utf8(*key) || key->find('\0') != std::string::npos)
    return aws::s3_refusal("InvalidURI");
  if (name->empty() && !key->empty()) return aws::s3_refusal("InvalidBucketName");
  if (!name->empty() && !is_bucket_name(*name)) {
    aws::Refusal error = aws::s3_refusal("InvalidBucketName");
    error.more = {{"BucketName", to_utf8(*name)}};
    return error;
  }
  if (key->size() > key_bytes_max) {
    aws::Refusal error = aws::s3_refusal("KeyTooLongError");
    error.more = {{"Size", std::to_string(key->size())},
                  {"MaxSizeAllowed", std::to_string(key_bytes_max)}};
    return error;
  }
  return Place{std::move(*name), std::move(*key)};
}

/// The operation that a method and a query parameter make. The first row that fits counts.
struct Route {
  std::string_view method;
  std::string_view parameter;  ///< Empty: none is needed.
  S3Op op;
};

constexpr std::array bucket_routes = {
    Route{"GET", "location", S3Op::get_bucket_location},
    Route{"GET", "versioning", S3Op::get_bucket_versioning},
    Route{"GET", "acl", S3Op::get_bucket_acl},
    Route{"PUT", "acl", S3Op::put_bucket_acl},
    Route{"GET", "versions", S3Op::list_object_versions},
    Route{"GET", "uploads", S3Op::list_multipart_uploads},
    Route{"GET", "", S3Op::list_objects},
    Route{"HEAD", "", S3Op::head_bucket},
    Route{"PUT", "", S3Op::create_bucket},
    Route{"DELETE", "", S3Op::delete_bucket},
    Route{"POST", "delete", S3Op::delete_objects},
};
constexpr std::array object_routes = {
    Route{"GET", "acl", S3Op::get_object_acl},
    Route{"PUT", "acl", S3Op::put_object_acl},
    Route{"GET", "attributes", S3Op::get_object_attributes},
    Route{"GET", "tagging", S3Op::get_object_tagging},
    Route{"GET", "uploadId", S3Op::list_parts},
    Route{"GET", "", S3Op::get_object},
    Route{"HEAD", "", S3Op::head_object},
    Route{"PUT", "tagging", S3Op::put_object_tagging},
    Route{"PUT", "uploadId", S3Op::upload_part},
    Route{"PUT", "", S3Op::put_object},
    Route{"DELETE", "tagging", S3Op::delete_object_tagging},
    Route{"DELETE", "uploadId", S3Op::abort_multipart_upload},
    Route{"DELETE", "", S3Op::delete_object},
    Route{"POST", "uploads", S3Op::create_multipart_upload},
    Route{"POST", "uploadId", S3Op::complete_multipart_upload},
};

/// What S3 has besides: never taken for the plain operation of the method.
constexpr std::array<std::string_view, 31> subresources = {
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "uploads",
    "versioning",
    "versions",
    "website",
};

template <std::size_t size>
S3Op route(const std::array<Route, size>& routes, std::string_view method, const Fields& fields,
           std::string& name) {
  const auto* subresource =
      std::find_if(subresources.begin(), subresources.end(),
                   [&](std::string_view one) { return fields.parameter(one) != nullptr; });
  for (const Route& one : routes) {
    if (one.method != method) continue;
    if (!one.parameter.empty() && fields.parameter(one.parameter) == nullptr) continue;
    if (one.parameter.empty() && subresource != subresources.end()) break;
    return one.op;
  }
  if (subresource != subresources.end()) name = *subresource;
  return S3Op::unsupported;
}

S3Op refined(S3Op op, const Fields& fields) {
  if (op == S3Op::list_objects && fields.parameter("list-type") != nullptr)
    return S3Op::list_objects_v2;
  if (!fields.head.header("x-amz-copy-source")) return op;
  if (op == S3Op::put_object) return S3Op::copy_object;
  return op == S3Op::upload_part ? S3Op::upload_part_copy : op;
}

/// The operation; an error for what S3 does not have at that place.
Result<void, aws::Refusal> set_operation(S3Operation& operation, const Fields& fields) {
  const std::string_view method = fields.head.method;
  if (operation.bucket.empty()) {
    if (method != "GET") return aws::s3_refusal("MethodNotAllowed");
    operation.op = S3Op::list_buckets;
  } else if (operation.key.empty()) {
    operation.op = route(bucket_routes, method, fields, operation.name);
    if (operation.op == S3Op::unsupported && method == "POST") operation.name = "POST";
  } else {
    operation.op = route(object_routes, method, fields, operation.name);
  }
  operation.op = refined(operation.op, fields);
  if (operation.op == S3Op::unsupported && operation.name.empty())
    return aws::s3_refusal("MethodNotAllowed");
  if (operation.op != S3Op::unsupported) operation.name = name_of(operation.op);
  return {};
}

/// Presigned URLs carry x-amz- headers as parameters. Those that do not come as headers too.
std::vector<aws::HeaderView> headers_in_query(const aws::RequestHead& head,
                                              const aws::Pairs& query) {
  constexpr std::array<std::string_view, 7> of_signatures = {
      "x-amz-algorithm", "x-amz-credential",    "x-amz-date",          "x-amz-expires",
      "x-amz-signature", "x-amz-signedheaders", "x-amz-security-token"};
  std::vector<aws::HeaderView> headers;
  for (const auto& [name, value] : query) {
    if (name.size() < 7 || !same_letters(std::string_view(name).substr(0, 6), "x-amz-")) continue;
    const bool of_signature =
        std::any_of(of_signatures.begin(), of_signatures.end(),
                    [&key = name](std::string_view one) { return same_letters(one, key); });
    if (!of_signature && !head.header(name)) headers.emplace_back(name, value);
  }
  return headers;
}

}  // namespace

std::string_view name_of(S3Op op) {
  switch (op) {
    case S3Op::unsupported:
      return "Unsupported";
    case S3Op::list_buckets:
      return "ListBuckets";
    case S3Op::create_bucket:
      return "CreateBucket";
    case S3Op::head_bucket:
      return "HeadBucket";
    case S3Op::delete_bucket:
      return "DeleteBucket";
    case S3Op::get_bucket_location:
      return "GetBucketLocation";
    case S3Op::get_bucket_versioning:
      return "GetBucketVersioning";
    case S3Op::get_bucket_acl:
      return "GetBucketAcl";
    case S3Op::put_bucket_acl:
      return "PutBucketAcl";
    case S3Op::list_objects:
      return "ListObjects";
    case S3Op::list_objects_v2:
      return "ListObjectsV2";
    case S3Op::list_object_versions:
      return "ListObjectVersions";
    case S3Op::list_multipart_uploads:
      return "ListMultipartUploads";
    case S3Op::delete_objects:
      return "DeleteObjects";
    case S3Op::put_object:
      return "PutObject";
    case S3Op::get_object:
      return "GetObject";
    case S3Op::head_object:
      return "HeadObject";
    case S3Op::delete_object:
      return "DeleteObject";
    case S3Op::copy_object:
      return "CopyObject";
    case S3Op::get_object_acl:
      return "GetObjectAcl";
    case S3Op::put_object_acl:
      return "PutObjectAcl";
    case S3Op::get_object_attributes:
      return "GetObjectAttributes";
    case S3Op::get_object_tagging:
      return "GetObjectTagging";
    case S3Op::put_object_tagging:
      return "PutObjectTagging";
    case S3Op::delete_object_tagging:
      return "DeleteObjectTagging";
    case S3Op::create_multipart_upload:
      return "CreateMultipartUpload";
    case S3Op::upload_part:
      return "UploadPart";
    case S3Op::upload_part_copy:
      return "UploadPartCopy";
    case S3Op::complete_multipart_upload:
      return "CompleteMultipartUpload";
    case S3Op::abort_multipart_upload:
      return "AbortMultipartUpload";
    case S3Op::list_parts:
      return "ListParts";
  }
  return "Unsupported";
}

Result<S3Operation, aws::Refusal> read_s3_request(const aws::RequestHead& head,
                                                  const S3RequestOptions& options) {
  Place place = TRY(place_of(head, options.domain));
  std::optional<aws::Pairs> query = aws::decoded_query(head.query());
  if (!query) return aws::s3_refusal("InvalidURI");
  std::vector<aws::HeaderView> headers = headers_in_query(head, *query);
  aws::RequestHead whole = head;
  if (!headers.empty()) {
    headers.insert(headers.begin(), head.headers.begin(), head.headers.end());
    whole.headers = headers;
  }
  const Fields fields{whole, *query};
  S3Operation operation;
  operation.bucket = std::move(place.bucket);
  operation.key = std::move(place.key);
  TRY(set_operation(operation, fields));
  TRY(read_fields(operation, fields));
  return operation;
}

}  // namespace muster::s3wire
