#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "server/cloudformation/stack.h"

namespace muster::server {

/// The input of CloudFormation's operations on stacks.

/// "vpc-0a1b…": 17 random digits, as in EC2.
std::string fresh_id(std::string_view prefix);
/// The ARN of a "stack" or a "changeSet".
std::string fresh_arn(const api::Realm& realm, const std::string& kind, const std::string& name);

Result<void, aws::Refusal> check_stack_name(const std::string& name);
/// The client's token for this call, the same for repeated calls; may be empty.
std::string token_of(const api::Request& request, const char* member);
/// The template's text, which may be the one of `before` (a stack's request).
Result<std::string, aws::Refusal> template_in(const Json& input, const Json& before);
/// Parameters by key, which may use the values of a stack created by the request `before`.
Result<std::map<std::string, std::string>, aws::Refusal> parameters_in(
    const Json& input, const cloudformation::Stack& stack, const Json& before);

/// Both networks in one, with those of `more` at the end.
Json joined(Json networks, const Json& more);
/// The ids of a row's networks. Empty for text that is not JSON.
std::set<std::string> ids_in(const std::string& networks);

}  // namespace muster::server
