#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "aws/refusal.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::cloudformation {

/// CloudFormation's templates as values: parsed, and checked as far as this needs no parameters.
///
/// Pure. Source: AWS CloudFormation User Guide, "Template anatomy" and "Quotas"; messages are
/// CloudFormation's own where they exist.

constexpr std::size_t template_bytes_max = 51'200;

/// A ValidationError: CloudFormation's response to an invalid template or parameter.
aws::Refusal invalid(std::string text);

struct Resource {
  std::string name;  ///< The logical one.
  std::string type;  ///< "AWS::EC2::VPC", a supported type.
  Json properties = Json::object();
  std::string condition = {};           ///< Created only if it holds; empty: always.
  std::vector<std::string> after = {};  ///< DependsOn.
};

/// Sections that a template lacks are empty objects.
struct Template {
  std::string description;
  Json parameters = Json::object();
  Json mappings = Json::object();
  Json conditions = Json::object();
  Json outputs = Json::object();
  std::map<std::string, Resource> resources;
};

/// Parses JSON (text that starts with a brace) or YAML. Checks that all referenced names exist.
Result<Template, aws::Refusal> read_template(std::string_view text);

}  // namespace muster::cloudformation
