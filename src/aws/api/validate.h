#pragma once

#include <optional>
#include <string_view>

#include "aws/api/request.h"

namespace muster::api {

/// Why AWS would refuse `input` for what it is, whatever jobs there are: types first (code
/// SerializationException), then each member against its published length, range, pattern and enum
/// ("2 validation errors detected: Value '' at 'roleArn' failed to satisfy constraint: ..."), then
/// what services are known to check beyond their model.
///
/// Pure. Members that the model does not know are let through, a null is a member left out, and
/// any name is an instance type. The message shows the caller's values: an answer, not for a log.
/// Timestamps are epoch seconds (see protocol.h). A service or operation that is not in the model
/// is let through: read_request() refuses those.
/// Source: botocore's service models, and the messages that the services are seen to answer with.
Result<void, aws::Refusal> validate(std::string_view service, std::string_view operation,
                                    const Json& input);

/// `input` with the members alone that the model of the operation has, at every level: what a
/// caller may say, whatever else was sent. Pure. An operation that is not in the model has none.
Json only_known(std::string_view service, std::string_view operation, const Json& input);

/// The code with which `service` refuses a parameter: "ValidationException" of SageMaker.
std::string_view validation_code(std::string_view service);

}  // namespace muster::api
