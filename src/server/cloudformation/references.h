#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// The references in a template's values. Pure.

struct References {
  std::set<std::string> names;  ///< In Ref, Fn::GetAtt, Fn::Sub: resources, parameters, AWS::…
  std::set<std::string> attributes;  ///< "Vpc.CidrBlock", of Fn::GetAtt and Fn::Sub.
  std::set<std::string> conditions;  ///< In Fn::If and {"Condition": …}.
};
/// All in `value`, in both branches of each Fn::If.
References references_of(const Json& value);

/// A string of Fn::Sub in pieces: "a-${B}" is "a-" and the name "B"; "${!B}" is the text "${B}".
struct SubPiece {
  std::string text;
  bool is_name = false;
};
std::vector<SubPiece> sub_pieces(std::string_view text);

/// The function that `value` calls, "Ref", "Fn::Join" or "Condition"; empty if it is not a call.
std::string function_of(const Json& value);

/// Resources, each after all that it refers to, otherwise by name. Rejects a circular dependency
/// and names its resources.
Result<std::vector<std::string>, aws::Refusal> in_order(const Template& made);

}  // namespace muster::cloudformation
