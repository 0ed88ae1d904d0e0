#pragma once

// Inside objects/ only: the headers and query parameters of a request to S3. Pure.

#include <optional>
#include <string>

#include "objects/s3_request.h"

namespace muster::objects {

struct Fields {
  const RequestHead& head;
  const Pairs& query;

  /// None if it is not there; empty for "?name".
  const std::string* parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return &value;
    return nullptr;
  }
};

/// Fills in all of `operation` that is not its op, bucket and key. Errors: as read_s3_request.
std::optional<AwsError> read_fields(S3Operation& operation, const Fields& fields);

}  // namespace muster::objects
