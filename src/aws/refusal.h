#pragma once

#include <string>
#include <string_view>

#include "aws/percent.h"

namespace muster::aws {

/// What a service of AWS answers to a request that it refuses. Pure.
struct Refusal {
  std::string code;     ///< "NoSuchKey", "ValidationException"
  std::string message;  ///< One line for a person.
  int status = 400;     ///< HTTP's.
  Pairs more{};         ///< Further elements of S3's answer: {"BucketName", "b"}.

  bool operator==(const Refusal&) const = default;
};

/// One of S3's refusals by its code, with the status and the text that S3's list gives it. A code
/// that is not in the table here is a bug: it aborts.
/// Source: Amazon S3 API Reference, "Error responses", list of error codes.
Refusal s3_refusal(std::string_view code);
/// As above, but with the caller's text.
Refusal s3_refusal(std::string_view code, std::string message);

}  // namespace muster::aws
