#include "server/cloudformation/template.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/letters.h"
#include "base/text.h"
#include "base/yaml.h"
#include "server/cloudformation/functions.h"
#include "server/cloudformation/references.h"
#include "server/cloudformation/resource_types.h"

namespace muster::cloudformation {
namespace {

constexpr std::size_t resources_max = 500;
constexpr std::size_t entries_max = 200;  ///< Parameters, mappings, outputs.
constexpr std::size_t name_bytes_max = 255;

using Checked = Result<void, aws::Refusal>;

aws::Refusal bad_format(const std::string& text) {
  return invalid("Template format error: " + text);
}

bool is_logical_name(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes_max &&
         std::all_of(name.begin(), name.end(), is_letter_or_digit);
}

/// "!Ref x" is {"Ref": "x"}, "!Sub x" is {"Fn::Sub": "x"}, "!GetAtt a.b" is {"Fn::GetAtt": …}.
Result<Json> short_form(std::string_view tag, Json value) {
  const std::string name(tag.substr(1));
  const bool is_plain = name == "Ref" || name == "Condition";
  return Json{{is_plain ? name : "Fn::" + name, std::move(value)}};
}

Result<Json, aws::Refusal> parsed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return bad_format("unsupported structure.");
  if (text[start] != '{') {
    Result<Json> json = parse_yaml(text, {.tagged = short_form, .is_text_kept = true});
    if (json) return *std::move(json);
    return bad_format("YAML not well-formed. (" + json.error().text + ")");
  }
  Result<Json> json = parse_json(text);
  if (json) return *std::move(json);
  // "not JSON at line 1, column 5: syntax error": as far as the place.
  std::string where = json.error().text;
  where = where.substr(0, where.find(": "));
  const std::size_t at = where.find("line ");
  return bad_format("JSON not well-formed. (" +
                    (at == std::string::npos ? where : where.substr(at)) + ")");
}

/// The place of a null, "/Resources/Vpc/Properties"; empty: there is none.
std::string null_in(const Json& value, const std::string& path) {
  if (value.is_null()) return path.empty() ? "/" : path;
  if (!value.is_structured()) return {};
  for (const auto& [name, each] : value.items()) {
    std::string found = null_in(each, path + "/" + name);
    if (!found.empty()) return found;
  }
  return {};
}

Checked check_sections(const Json& json) {
  static const std::set<std::string> known = {"AWSTemplateFormatVersion",
                                              "Description",
                                              "Metadata",
                                              "Parameters",
                                              "Rules",
                                              "Mappings",
                                              "Conditions",
                                              "Transform",
                                              "Resources",
                                              "Outputs",
                                              "Hooks"};
  std::vector<std::string> unknown;
  for (const auto& [name, each] : json.items())
    if (!known.contains(name)) unknown.push_back(name);
  if (!unknown.empty())
    return invalid("Invalid template property or properties [" + join(unknown, ", ") + "]");
  for (const char* name : {"Transform", "Rules", "Hooks"})
    if (json.contains(name)) return bad_format(std::string(name) + ": not supported");
  if (json.contains("AWSTemplateFormatVersion") && json["AWSTemplateFormatVersion"] != "2010-09-09")
    return invalid("Template format error: " + to_text(json["AWSTemplateFormatVersion"]) +
                   " is not a supported value for AWSTemplateFormatVersion.");
  if (json.contains("Description") && !json["Description"].is_string())
    return bad_format("Every Description member must be a string.");
  return {};
}

/// A section whose entries are objects with names; an empty one if it is not there.
Result<Json, aws::Refusal> section(const Json& json, const std::string& name, std::size_t most) {
  const auto found = json.find(name);
  if (found == json.end()) return Json::object();
  if (!found->is_object()) return bad_format(name + " must be an object.");
  if (found->size() > most)
    return bad_format("Number of " + lower_case(name) + ", " + std::to_string(found->size()) +
                      ", is greater than maximum allowed, " + std::to_string(most));
  for (const auto& [key, each] : found->items()) {
    if (!is_logical_name(key))
      return bad_format(name + " name '" + key.substr(0, name_bytes_max) +
                        "' is non alphanumeric.");
    if (!each.is_object())
      return bad_format("[/" + name + "/" + key + "] every " + name + " member must be an object.");
  }
  return *found;
}

Checked check_resource_words(const std::string& name, const Json& json) {
  static const std::set<std::string> known = {
      "Type",        "Properties",     "Condition",           "DependsOn",    "Metadata",
      "Description", "DeletionPolicy", "UpdateReplacePolicy", "UpdatePolicy", "CreationPolicy"};
  for (const auto& [word, each] : json.items())
    if (!known.contains(word)) return invalid("Invalid template resource property '" + word + "'");
  if (!json.contains("Type") || !json["Type"].is_string())
    return bad_format("[/Resources/" + name +
                      "] Every Resources object must contain a Type member.");
  for (const char* word : {"Properties", "Condition"}) {
    const bool is_object = std::string_view(word) == "Properties";
    if (json.contains(word) && (is_object ? !json[word].is_object() : !json[word].is_string()))
      return bad_format("[/Resources/" + name + "/" + word + "] must be " +
                        (is_object ? "an object." : "a string."));
  }
  return {};
}

Result<std::vector<std::string>, aws::Refusal> depends_on(const std::string& name,
                                                          const Json& json) {
  std::vector<std::string> names;
  if (!json.contains("DependsOn")) return names;
  const Json& after = json["DependsOn"];
  for (const Json& each : after.is_array() ? after : Json::array({after})) {
    if (!each.is_string())
      return bad_format("[/Resources/" + name +
                        "/DependsOn] DependsOn must be a string or list of strings.");
    names.push_back(each.get<std::string>());
  }
  return names;
}

Checked read_resources(const Json& json, Template& made) {
  const Json all = TRY(section(json, "Resources", resources_max));
  if (all.empty()) return bad_format("At least one Resources member must be defined.");
  std::set<std::string> unknown;
  for (const auto& [name, each] : all.items()) {
    TRY(check_resource_words(name, each));
    Resource& resource = made.resources[name];
    resource.name = name;
    resource.type = each["Type"].get<std::string>();
    resource.after = TRY(depends_on(name, each));
    if (each.contains("Properties")) resource.properties = each["Properties"];
    if (each.contains("Condition")) resource.condition = each["Condition"].get<std::string>();
    if (!is_resource_type(resource.type)) unknown.insert(resource.type);
  }
  if (unknown.empty()) return {};
  return bad_format("Unrecognized resource types: [" +
                    join({unknown.begin(), unknown.end()}, ", ") + "]");
}

Checked unresolved(const std::vector<std::string>& names, const std::string& block) {
  if (names.empty()) return {};
  return bad_format("Unresolved resource dependencies [" + join(names, ", ") + "] in the " + block +
                    " block of the template");
}

Checked check_conditions_there(const Template& made, const References& found,
                               const std::string& block) {
  for (const std::string& name : found.conditions)
    if (!made.conditions.contains(name))
      return bad_format("Unresolved condition dependency " + name + " in the " + block +
                        " block of the template");
  return {};
}

/// Every name in `value` is there. `block`: "Resources" or "Outputs".
Checked check_references(const Template& made, const Json& value, const std::string& block) {
  const References found = references_of(value);
  std::vector<std::string> missing;
  for (const std::string& name : found.names)
    if (!made.resources.contains(name) && !made.parameters.contains(name) &&
        !is_pseudo_parameter(name))
      missing.push_back(name);
  TRY(unresolved(missing, block));
  for (const std::string& dotted : found.attributes) {
    const std::size_t dot = dotted.find('.');
    const auto resource = made.resources.find(dotted.substr(0, dot));
    if (resource == made.resources.end())
      return invalid("Template error: instance of Fn::GetAtt references undefined resource " +
                     dotted.substr(0, dot));
    if (!has_attribute(resource->second.type, dotted.substr(dot + 1)))
      return invalid("Template error: resource " + dotted.substr(0, dot) +
                     " does not support attribute type " + dotted.substr(dot + 1) +
                     " in Fn::GetAtt");
  }
  return check_conditions_there(made, found, block);
}

Checked check_conditions(const Template& made) {
  const References found = references_of(made.conditions);
  std::vector<std::string> missing;
  for (const std::string& name : found.names)
    if (!made.parameters.contains(name) && !is_pseudo_parameter(name)) missing.push_back(name);
  if (!missing.empty())
    return invalid("Template error: Unresolved dependencies [" + join(missing, ", ") +
                   "]. Cannot reference resources in the Conditions block of the template");
  return check_conditions_there(made, found, "Conditions");
}

Checked check_outputs(const Template& made) {
  for (const auto& [name, output] : made.outputs.items()) {
    if (!output.contains("Value"))
      return bad_format("Output " + name +
                        " is malformed: every Outputs member must have a Value.");
    TRY(check_references(made, output, "Outputs"));
  }
  return {};
}

Checked check_names(const Template& made) {
  for (const auto& [name, resource] : made.resources) {
    if (made.parameters.contains(name))
      return bad_format("Duplicate logical name '" + name + "' of a parameter and a resource.");
    TRY(check_references(made, resource.properties, "Resources"));
    std::vector<std::string> missing;
    for (const std::string& each : resource.after)
      if (!made.resources.contains(each)) missing.push_back(each);
    TRY(unresolved(missing, "Resources"));
    if (!resource.condition.empty() && !made.conditions.contains(resource.condition))
      return bad_format("Unresolved condition dependency " + resource.condition +
                        " in the Resources block of the template");
    TRY(check_properties(resource));
  }
  TRY(check_conditions(made));
  return check_outputs(made);
}

}  // namespace

aws::Refusal invalid(std::string text) {
  return {"ValidationError", std::move(text)};
}

Result<Template, aws::Refusal> read_template(std::string_view text) {
  if (text.size() > template_bytes_max)
    return invalid(
        "1 validation error detected: Value at 'templateBody' failed to satisfy constraint: Member "
        "must have length less than or equal to " +
        std::to_string(template_bytes_max));
  const Json json = TRY(parsed(text));
  if (!json.is_object()) return bad_format("unsupported structure.");
  TRY(check_sections(json));
  if (const std::string place = null_in(json, ""); !place.empty())
    return bad_format("[" + place + "] 'null' values are not allowed in templates");
  Template made;
  if (json.contains("Description")) made.description = json["Description"].get<std::string>();
  made.parameters = TRY(section(json, "Parameters", entries_max));
  made.mappings = TRY(section(json, "Mappings", entries_max));
  made.conditions = TRY(section(json, "Conditions", entries_max));
  made.outputs = TRY(section(json, "Outputs", entries_max));
  TRY(read_resources(json, made));
  TRY(check_names(made));
  return made;
}

}  // namespace muster::cloudformation
