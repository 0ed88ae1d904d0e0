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

/// CloudFormation's templates as values: read and checked as far as no parameter is needed for it.
///
/// Pure. Source: AWS CloudFormation User Guide, "Template anatomy" and "Quotas"; the texts of
/// refusals are CloudFormation's own where it has one.

constexpr std::size_t template_bytes_max = 51'200;

/// A ValidationError: what CloudFormation answers to a template and to parameters.
aws::Refusal invalid(std::string text);

struct Resource {
  std::string name;  ///< The logical one.
  std::string type;  ///< "AWS::EC2::VPC", one that muster has.
  Json properties = Json::object();
  std::string condition = {};           ///< Made only where it holds; empty: always.
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

/// From JSON (a text that begins with a brace) or YAML. Every name that it refers to is there.
Result<Template, aws::Refusal> read_template(std::string_view text);

}  // namespace muster::cloudformation
