#include "aws/s3wire/s3_request.h"

#include <algorithm>

#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_key.h"
#include "aws/s3wire/s3_operations.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

/// What a request is about, before its fields are read.
struct Place {
  std::string bucket;
  std::string key;
};

Result<Place, aws::Refusal> place_of(const aws::RequestHead& head, std::string_view bucket) {
  std::string_view path = head.path();
  if (!path.starts_with('/')) return aws::s3_refusal("InvalidURI");
  path.remove_prefix(1);
  if (bucket.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    bucket = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  std::optional<std::string> name = aws::percent_decoded(bucket, false);
  std::optional<std::string> key = aws::percent_decoded(path, false);
  if (!name || !key || !is_utf8(*key) || key->find('\0') != std::string::npos)
    return aws::s3_refusal("InvalidURI");
  return Place{std::move(*name), std::move(*key)};
}

Result<void, aws::Refusal> check_names(const Place& place) {
  const auto& [bucket, key] = place;
  if (bucket.empty() && !key.empty()) return aws::s3_refusal("InvalidBucketName");
  if (!bucket.empty() && !is_bucket_name(bucket)) {
    aws::Refusal error = aws::s3_refusal("InvalidBucketName");
    error.more = {{"BucketName", to_utf8(bucket)}};
    return error;
  }
  if (key.size() <= key_bytes_max) return {};
  aws::Refusal error = aws::s3_refusal("KeyTooLongError");
  error.more = {{"Size", std::to_string(key.size())},
                {"MaxSizeAllowed", std::to_string(key_bytes_max)}};
  return error;
}

About about(const Place& place) {
  if (!place.key.empty()) return About::object;
  return place.bucket.empty() ? About::service : About::bucket;
}

/// Presigned URLs carry x-amz- headers as parameters. Returns those that are not also sent as
/// headers. A checksum is not included: AWS's SDK for JavaScript puts the checksum of an empty body
/// into the URL if it does not know the body yet.
std::vector<aws::HeaderView> headers_in_query(const aws::RequestHead& head,
                                              const aws::Pairs& query) {
  // URLs of Version 2 carry two more, which it signs.
  const bool version_2 = std::any_of(query.begin(), query.end(),
                                     [](const auto& one) { return one.first == "AWSAccessKeyId"; });
  std::vector<aws::HeaderView> headers;
  for (const auto& [name, value] : query) {
    const bool stands = aws::is_x_amz(name) ? !is_of_signature(name) && !checksum_named(name)
                                            : version_2 && is_of_version_2(name);
    if (stands && !head.header(name)) headers.emplace_back(name, value);
  }
  return headers;
}

}  // namespace

Result<S3Operation, aws::Refusal> read_s3_request(const aws::RequestHead& head,
                                                  std::string_view bucket) {
  Place place = TRY(place_of(head, bucket));
  std::optional<aws::Pairs> query = aws::decoded_query(head.query());
  if (!query) return aws::s3_refusal("InvalidURI");
  std::vector<aws::HeaderView> headers = headers_in_query(head, *query);
  aws::RequestHead whole = head;
  if (!headers.empty()) {
    headers.insert(headers.begin(), head.headers.begin(), head.headers.end());
    whole.headers = headers;
  }
  const Fields fields{whole, *query};
  const AskedOperation asked = TRY(asked_operation(fields, about(place)));
  TRY(check_names(place));
  S3Operation operation;
  operation.op = asked.op;
  operation.name = asked.name;
  operation.selector = asked.selector;
  operation.bucket = std::move(place.bucket);
  operation.key = std::move(place.key);
  TRY(read_fields(operation, fields));
  return operation;
}

}  // namespace muster::s3wire
