#pragma once

#include <string>
#include <string_view>

#include "aws/api/model.h"
#include "aws/api/request.h"

namespace muster::api {

/// Bodies of smithy-rpc-v2-cbor. Pure.
/// Source: smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html; RFC 8949.

/// Deeper nesting than any operation's is refused before it costs a stack.
constexpr int nesting_max = 64;

/// "/service/<any>/operation/GetMetricData" gives "GetMetricData"; empty for any other path.
std::string_view cbor_operation(std::string_view path);

/// An object; an empty body is an empty one; timestamps (tag 1) become epoch seconds. Refuses what
/// is cut short, nested too deep, of keys that are no text, or followed by more, and byte strings:
/// no operation here has any. Code: SerializationException.
Result<Json, aws::Refusal> read_cbor(std::string_view body);

/// The operation's output by the model: timestamps with tag 1. Members that the model lacks
/// are written as they are.
std::string write_cbor(const Service& service, const Operation& operation, const Json& output);

std::string write_cbor_refusal(const aws::Refusal& refusal);

}  // namespace muster::api
