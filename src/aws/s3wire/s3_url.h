#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::s3wire {

/// The place of an object. The key is not percent-encoded.
///
/// Pure: values only.
struct S3Url {
  std::string bucket;
  std::string key;

  bool operator==(const S3Url&) const = default;
};

/// Reads "s3://bucket/key". The key is everything behind the bucket's slash, byte for byte ('?',
/// '#' and '%' included, as the AWS tools take it). Error: `invalid_input` that says what is
/// missing.
Result<S3Url> parse_s3_url(std::string_view text);
/// As above, with an empty key allowed: a bucket or the start of keys ("s3://bucket/output").
Result<S3Url> parse_s3_prefix(std::string_view text);
/// "s3://bucket/key"; control characters, which a key may have, read as '?'.
std::string text_of(const S3Url& url);

}  // namespace muster::s3wire
