#pragma once

// Inside s3wire/ only: the headers and query parameters of a request to S3. Pure.

#include <optional>
#include <string>

#include "aws/s3wire/s3_request.h"

namespace muster::s3wire {

struct Fields {
  const aws::RequestHead& head;
  const aws::Pairs& query;

  /// None if it is not there; empty for "?name".
  const std::string* parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return &value;
    return nullptr;
  }
};

/// Fills in all of `operation` that is not its op, bucket and key. Errors: as read_s3_request.
Result<void, aws::Refusal> read_fields(S3Operation& operation, const Fields& fields);

}  // namespace muster::s3wire
