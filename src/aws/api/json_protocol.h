#pragma once

#include <string>
#include <string_view>

#include "aws/api/request.h"

namespace muster::api {

/// Bodies of AWS JSON 1.0 and 1.1. Pure.
/// Source: smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html.

/// An object; an empty body is an empty one. Code: SerializationException.
Result<Json, aws::Refusal> read_json(std::string_view body);

/// {"__type": code, "message": ...}. Bytes that are not UTF-8 are replaced.
std::string write_json_refusal(const aws::Refusal& refusal);

}  // namespace muster::api
