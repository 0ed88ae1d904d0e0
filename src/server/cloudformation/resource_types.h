#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/vpc/networks.h"
#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// The resources that templates may have, and what is made of each. Pure.
/// Source: AWS CloudFormation Template Reference, AWS::EC2.

bool is_resource_type(std::string_view type);
/// True if Fn::GetAtt may ask for it.
bool has_attribute(std::string_view type, std::string_view attribute);
/// Properties have known names, and those that a type needs are there; values are not looked at.
Result<void, aws::Refusal> check_properties(const Resource& resource);

/// A resource that was made: what Ref and Fn::GetAtt give.
struct Made {
  std::string id;
  std::map<std::string, std::string> attributes;
  std::string digest = {};  ///< StackResource's.
  std::string fixed = {};
};

struct Stack;

/// Makes resources, one behind the other, into networks.
class Maker {
 public:
  struct Options {
    std::string stack;           ///< A name.
    std::string region;          ///< For subnets that name no zone.
    const vpc::Networks& known;  ///< What other stacks and the config have; outlives this.
    std::function<std::string(std::string_view prefix)> fresh_id;  ///< "vpc" to "vpc-0a…".
    const Stack* before = nullptr;  ///< What is updated; outlives this.
  };
  explicit Maker(Options options) : options_(std::move(options)) {}

  /// `properties` are carried out: texts, lists and objects of them.
  Result<Made, aws::Refusal> make(const Resource& resource, const Json& properties);
  /// What was made, without what is known. A refusal names resources as the template does.
  Result<vpc::Networks, aws::Refusal> networks() const;

 private:
  /// What is made is called `id`.
  using Function = Result<Made, aws::Refusal> (Maker::*)(const Resource& resource,
                                                         const Json& properties,
                                                         const std::string& id);
  friend struct Type;
  Result<Made, aws::Refusal> make_vpc(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_subnet(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_group(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_rule(const Resource&, const Json&, const std::string&);
  Result<Made, aws::Refusal> make_endpoint(const Resource&, const Json&, const std::string&);
  /// A thing that changes nothing here: it has an id.
  Result<Made, aws::Refusal> make_other(const Resource&, const Json&, const std::string&);
  /// The id that the stack before has, if it may stay; else a fresh one.
  Result<std::string, aws::Refusal> id_of(const Resource& resource, std::string_view prefix,
                                          const std::string& fixed) const;

  Options options_;
  vpc::Networks made_;
  std::map<std::string, std::string> logical_;  ///< Names by id.
  std::size_t subnets_ = 0;
};

}  // namespace muster::cloudformation
