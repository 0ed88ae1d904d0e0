#pragma once

#include <map>
#include <string>

#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// Whether a parameter's value is secret (NoEcho). Pure.
bool is_secret(const Template& made, const std::string& parameter);

/// The texts of all parameters: given ones, else their defaults, checked against what the template
/// says of them. Pure. Source: AWS CloudFormation User Guide, "Parameters".
Result<std::map<std::string, std::string>, aws::Refusal> parameters_of(
    const Template& made, const std::map<std::string, std::string>& given);

/// What Ref gives of a parameter: its text; of one whose type is a list, the elements.
Json parameter_value(const Template& made, const std::string& name, const std::string& text);

}  // namespace muster::cloudformation
