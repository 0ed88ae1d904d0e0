#pragma once

#include <optional>
#include <string_view>

#include "aws/api/request.h"

namespace muster::api {

/// What services refuse beyond what their models say: members that exclude or need one another. The
/// input has passed the model. Pure. Source: the API references; docs/protocols/api.md says which
/// rule is known from where.
Result<void, aws::Refusal> check_rules(std::string_view service, std::string_view operation,
                                       const Json& input);

}  // namespace muster::api
