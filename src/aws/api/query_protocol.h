#pragma once

#include <string>
#include <string_view>

#include "aws/api/model.h"
#include "aws/api/request.h"

namespace muster::api {

/// The Query protocol: form fields in, XML out, and EC2's variation of it. Pure.
/// Source: smithy.io/2.0/aws/protocols/aws-query-protocol.html and aws-ec2-query-protocol.html.

/// The value of `Action` in a form; empty if it is missing.
std::string query_action(std::string_view form);

/// The operation's input from `Name.member.1=...` fields, with types by the model. Fields that the
/// model does not know stay as texts under their own names. Code: MalformedInput, for a field whose
/// text is not its type's, or names that cannot be nested so.
Result<Json, aws::Refusal> read_query(const Service& service, const Operation& operation,
                                      std::string_view form);

/// <GetRoleResponse><GetRoleResult>...: members in the model's order, timestamps as ISO 8601.
/// Members that the model lacks are left out, and what XML cannot hold is replaced by U+FFFD.
std::string write_query(const Service& service, const Operation& operation, const Json& output,
                        std::string_view request_id);

std::string write_query_refusal(const Service* service, const aws::Refusal& refusal,
                                std::string_view request_id);
std::string write_ec2_refusal(const aws::Refusal& refusal, std::string_view request_id);

}  // namespace muster::api
