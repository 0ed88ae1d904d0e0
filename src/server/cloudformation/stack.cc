#include "server/cloudformation/stack.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/cloudformation/functions.h"
#include "server/cloudformation/parameters.h"
#include "server/cloudformation/references.h"
#include "server/cloudformation/resource_types.h"

namespace muster::cloudformation {
namespace {

constexpr std::size_t value_bytes_max = 4096;  ///< An output's.
constexpr std::size_t tags_max = 50;
constexpr const char* secret = "****";  ///< In place of a NoEcho parameter's value.

Names names_of(const Template& made, const std::map<std::string, std::string>& parameters,
               const StackOptions& options) {
  Names names{.values = {{"AWS::Region", options.region},
                         {"AWS::AccountId", options.account},
                         {"AWS::StackName", options.name},
                         {"AWS::StackId", options.id},
                         {"AWS::Partition", "aws"},
                         {"AWS::URLSuffix", "amazonaws.com"},
                         {"AWS::NotificationARNs", Json::array()}},
              .attributes = {},
              .region = options.region};
  for (const auto& [name, text] : parameters)
    names.values.insert_or_assign(name, parameter_value(made, name, text));
  return names;
}

Result<std::vector<std::pair<std::string, std::string>>, aws::Refusal> tags_of(
    const std::string& resource, const Json& properties) {
  std::vector<std::pair<std::string, std::string>> tags;
  const auto found = properties.find("Tags");
  if (found == properties.end()) return tags;
  const aws::Refusal wrong =
      invalid("Resource " + resource + ": Tags must be at most 50 objects of Key and Value");
  if (!found->is_array() || found->size() > tags_max) return wrong;
  for (const Json& each : *found) {
    const bool fits = each.is_object() && each.value("Key", Json()).is_string() &&
                      each.value("Value", Json()).is_string();
    if (!fits) return wrong;
    tags.emplace_back(each["Key"].get<std::string>(), each["Value"].get<std::string>());
  }
  return tags;
}

/// True if the entry, a resource or an output, has no condition, or one that holds.
Result<bool, aws::Refusal> is_wanted(Functions& functions, const std::string& condition) {
  if (condition.empty()) return true;
  return functions.condition(condition);
}

Result<void, aws::Refusal> make_resources(const Template& made, Functions& functions, Maker& maker,
                                          Stack& stack) {
  const std::vector<std::string> order = TRY(in_order(made));
  for (const std::string& name : order) {
    const Resource& resource = made.resources.at(name);
    const bool wanted = TRY(is_wanted(functions, resource.condition));
    if (!wanted) continue;
    const Json properties = TRY(functions.value(resource.properties));
    Made thing = TRY(maker.make(resource, properties));
    StackResource entry{name, resource.type, thing.id, {}, thing.digest, thing.fixed};
    entry.tags = TRY(tags_of(name, properties));
    functions.add(name, std::move(thing.id), std::move(thing.attributes));
    stack.resources.push_back(std::move(entry));
  }
  if (stack.resources.empty())
    return invalid("Template format error: At least one Resources member must be defined.");
  return {};
}

Result<std::string, aws::Refusal> output_text(Functions& functions, const std::string& name,
                                              const Json& written) {
  const Json value = TRY(functions.value(written));
  if (value.is_string() && value.get_ref<const std::string&>().size() <= value_bytes_max)
    return value.get<std::string>();
  return invalid("Template format error: Output " + name +
                 " is malformed. The Value field of every Outputs member must evaluate to a String "
                 "of at most 4096 bytes.");
}

Result<void, aws::Refusal> make_outputs(const Template& made, Functions& functions, Stack& stack) {
  for (const auto& [name, written] : made.outputs.items()) {
    const auto condition = written.find("Condition");
    const bool has_one = condition != written.end() && condition->is_string();
    const std::string named = has_one ? condition->get<std::string>() : std::string();
    const bool wanted = TRY(is_wanted(functions, named));
    if (!wanted) continue;
    StackOutput& output = stack.outputs.emplace_back();
    output.key = name;
    output.value = TRY(output_text(functions, name, written["Value"]));
    if (written.contains("Description"))
      output.description = TRY(output_text(functions, name, written["Description"]));
    if (const auto exported = written.find("Export"); exported != written.end()) {
      if (!exported->is_object() || !exported->contains("Name"))
        return invalid("Template format error: Output " + name + ": Export must have a Name");
      output.export_name = TRY(output_text(functions, name, (*exported)["Name"]));
    }
  }
  return {};
}

}  // namespace

Result<Stack, aws::Refusal> make_stack(std::string_view text,
                                       const std::map<std::string, std::string>& parameters,
                                       const StackOptions& options) {
  const Template made = TRY(read_template(text));
  const std::map<std::string, std::string> values = TRY(parameters_of(made, parameters));
  Stack stack;
  stack.description = made.description;
  for (const auto& [name, value] : values)
    stack.parameters.emplace_back(name, is_secret(made, name) ? secret : value);
  Functions functions(made, names_of(made, values, options));
  for (const auto& [name, written] : made.conditions.items()) TRY(functions.condition(name));
  Maker maker({.stack = options.name,
               .region = options.region,
               .known = options.known,
               .fresh_id = options.fresh_id,
               .before = options.before});
  TRY(make_resources(made, functions, maker, stack));
  stack.networks = TRY(maker.networks());
  TRY(make_outputs(made, functions, stack));
  return stack;
}

Result<Stack, aws::Refusal> with_digests(Stack old, std::string_view text, StackOptions options) {
  const auto has_none = [](const StackResource& each) { return each.fixed.empty(); };
  if (std::none_of(old.resources.begin(), old.resources.end(), has_none)) return old;
  std::map<std::string, std::string> parameters;
  for (const auto& [name, value] : old.parameters) {
    if (value == secret) return invalid("the values of its NoEcho parameters are not kept");
    parameters.emplace(name, value);
  }
  options.before = &old;
  const Stack again = TRY(make_stack(text, parameters, options));
  for (StackResource& each : old.resources)
    for (const StackResource& own : again.resources)
      if (own.name == each.name) {
        each.digest = own.digest;
        each.fixed = own.fixed;
      }
  return old;
}

Json to_json(const Stack& stack) {
  Json json{{"Description", stack.description},
            {"Parameters", stack.parameters},
            {"Resources", Json::array()},
            {"Outputs", Json::array()}};
  for (const StackResource& each : stack.resources)
    json["Resources"].push_back({{"Name", each.name},
                                 {"Type", each.type},
                                 {"Id", each.id},
                                 {"Tags", each.tags},
                                 {"Digest", each.digest},
                                 {"Fixed", each.fixed}});
  for (const StackOutput& each : stack.outputs)
    json["Outputs"].push_back({{"Key", each.key},
                               {"Value", each.value},
                               {"Description", each.description},
                               {"ExportName", each.export_name}});
  return json;
}

Result<Stack> stack_from(const Json& json) {
  Stack stack;
  try {
    json.at("Description").get_to(stack.description);
    json.at("Parameters").get_to(stack.parameters);
    for (const Json& each : json.at("Resources"))
      stack.resources.push_back(
          {each.at("Name").get<std::string>(), each.at("Type").get<std::string>(),
           each.at("Id").get<std::string>(), each.at("Tags").get<decltype(StackResource::tags)>(),
           each.value("Digest", ""), each.value("Fixed", "")});
    for (const Json& each : json.at("Outputs"))
      stack.outputs.push_back(
          {each.at("Key").get<std::string>(), each.at("Value").get<std::string>(),
           each.at("Description").get<std::string>(), each.at("ExportName").get<std::string>()});
  } catch (const Json::exception&) {
    return fail(Errc::invalid_input, "an unreadable stack");
  }
  return stack;
}

}  // namespace muster::cloudformation
