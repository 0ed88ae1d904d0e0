#pragma once

#include <map>
#include <string>

#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// Whether a parameter's value is secret (NoEcho). Pure.
bool is_secret(const Template& made, const std::string& parameter);

/// The values of all parameters: passed values or defaults, checked against the template's
/// constraints. Pure. Source: AWS CloudFormation User Guide, "Parameters".
Result<std::map<std::string, std::string>, aws::Refusal> parameters_of(
    const Template& made, const std::map<std::string, std::string>& given);

/// The result of Ref for a parameter: its string or, for a list type, the elements.
Json parameter_value(const Template& made, const std::string& name, const std::string& text);

}  // namespace muster::cloudformation
