#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "server/cloudformation/template.h"

namespace muster::cloudformation {

/// AWS::Region, AWS::AccountId, AWS::StackName, AWS::StackId, AWS::Partition, AWS::URLSuffix,
/// AWS::NotificationARNs, AWS::NoValue.
bool is_pseudo_parameter(std::string_view name);

/// The meanings of names while a stack is created.
struct Names {
  std::map<std::string, Json> values;  ///< Parameters, pseudo parameters, ids of resources.
  std::map<std::string, std::map<std::string, std::string>> attributes;  ///< By resource.
  std::string region;
};

/// Evaluates a template's values: its functions and conditions.
///
/// Pure. Numbers and truth values become strings. The total output of functions is limited: a
/// list's elements and a string's bytes count each time that they are repeated.
class Functions {
 public:
  Functions(const Template& made, Names names) : template_(made), names_(std::move(names)) {}

  /// Null: AWS::NoValue; members and elements with it are omitted.
  Result<Json, aws::Refusal> value(const Json& written);
  Result<bool, aws::Refusal> condition(const std::string& name);
  /// A resource that was just created.
  void add(const std::string& name, std::string id, std::map<std::string, std::string> attributes);

 private:
  using Value = Result<Json, aws::Refusal>;
  Value call(const std::string& function, const Json& argument);
  Value ref(const Json& argument);
  Value get_att(const Json& argument);
  Value sub(const Json& argument);
  Value join(const Json& argument);
  Value split(const Json& argument);
  Value select(const Json& argument);
  Value get_azs(const Json& argument);
  Value find_in_map(const Json& argument);
  Value choose(const Json& argument);
  Value base64(const Json& argument);
  Value cidr(const Json& argument);
  Value named(const std::string& name);
  Result<bool, aws::Refusal> truth(const Json& written);
  Result<bool, aws::Refusal> all_or_any(const Json& argument, bool is_all);
  /// The evaluated elements of a function's argument; `count` of them.
  Value arguments(const std::string& function, const Json& argument, std::size_t count);
  Result<std::string, aws::Refusal> text(const std::string& function, const Json& written);
  Result<void, aws::Refusal> spend(std::size_t weight);

  const Template& template_;
  Names names_;
  std::map<std::string, std::optional<bool>> decided_;  ///< None: the condition is being evaluated.
  std::size_t spent_ = 0;
};

}  // namespace muster::cloudformation
