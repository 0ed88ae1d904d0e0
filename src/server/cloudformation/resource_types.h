#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/vpc/networks.h"
#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// The supported resource types of templates, and their creation. Pure. Source: AWS CloudFormation
/// Template Reference, AWS::EC2.

bool is_resource_type(std::string_view type);
/// True if Fn::GetAtt supports it.
bool has_attribute(std::string_view type, std::string_view attribute);
/// Checks the names of properties and that required ones exist; does not check values.
Result<void, aws::Refusal> check_properties(const Resource& resource);

/// A created resource: the results of Ref and Fn::GetAtt.
struct Made {
  std::string id;
  std::map<std::string, std::string> attributes;
  std::string digest = {};  ///< StackResource's.
  std::string fixed = {};
};

struct Stack;

/// Creates resources one after the other, and collects their networks.
class Maker {
 public:
  struct Options {
    std::string stack;           ///< A name.
    std::string region;          ///< For subnets without a zone.
    const vpc::Networks& known;  ///< The networks of other stacks and the config; outlives this.
    std::function<std::string(std::string_view prefix)> fresh_id;  ///< "vpc" to "vpc-0a…".
    const Stack* before = nullptr;  ///< The stack that is updated; outlives this.
  };
  explicit Maker(Options options) : options_(std::move(options)) {}

  /// `properties` are evaluated: strings, lists and objects of them.
  Result<Made, aws::Refusal> make(const Resource& resource, const Json& properties);
  /// The created networks, without the known ones. A refusal uses the template's names.
  Result<vpc::Networks, aws::Refusal> networks() const;

 private:
  /// Creates the resource with the id `id`.
  using Function = Result<Made, aws::Refusal> (Maker::*)(const Resource& resource,
                                                         const Json& properties,
                                                         const std::string& id);
  friend struct Type;
  Result<Made, aws::Refusal> make_vpc(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_subnet(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_group(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_rule(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_endpoint(const Resource&, const Json&, const std::string&);
  /// A resource without effect, which only has an id.
  Result<Made, aws::Refusal> make_other(const Resource&, const Json&, const std::string&);
  /// The id from the previous stack if it can stay, otherwise a new one.
  Result<std::string, aws::Refusal> id_of(const Resource& resource, std::string_view prefix,
                                          const std::string& fixed) const;

  Options options_;
  vpc::Networks made_;
  std::map<std::string, std::string> logical_;  ///< Names by id.
  std::size_t subnets_ = 0;
};

}  // namespace muster::cloudformation
