#include "server/operations/stack_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/fd.h"
#include "base/letters.h"
#include "base/text.h"
#include "server/cloudformation/parameters.h"

namespace muster::server {
namespace {

using cloudformation::invalid;

constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t id_digits = 17;

bool is_stack_name(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes_max && is_letter_or_digit(name[0]) &&
         !is_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) || c == '-';
         });
}

/// The value that a parameter had.
Result<std::string, aws::Refusal> previous_value(const std::string& key,
                                                 const cloudformation::Stack& stack,
                                                 const Json& before) {
  const auto old = std::find_if(stack.parameters.begin(), stack.parameters.end(),
                                [&](const auto& each) { return each.first == key; });
  const std::string start = "Invalid input for parameter key " + key + ". ";
  if (old == stack.parameters.end())
    return invalid(start +
                   "Cannot specify usePreviousValue as true for a parameter key not in the "
                   "previous template");
  const Result<cloudformation::Template, aws::Refusal> made =
      cloudformation::read_template(api::text_of(before, "TemplateBody"));
  if (!made || cloudformation::is_secret(*made, key))
    return invalid(start +
                   "muster does not keep values of NoEcho parameters: specify the value again "
                   "instead of usePreviousValue");
  return old->second;
}

}  // namespace

std::string fresh_id(std::string_view prefix) {
  return std::string(prefix) + "-" + hex(random_bytes(id_digits)).substr(0, id_digits);
}

std::string fresh_arn(const api::Realm& realm, const std::string& kind, const std::string& name) {
  std::string id = hex(random_bytes(16));
  for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
  return "arn:aws:cloudformation:" + realm.region + ":" + realm.account + ":" + kind + "/" + name +
         "/" + id;
}

Result<void, aws::Refusal> check_stack_name(const std::string& name) {
  if (is_stack_name(name)) return {};
  return invalid("1 validation error detected: Value '" + name +
                 "' at 'stackName' failed to satisfy constraint: Member must satisfy regular "
                 "expression pattern: [a-zA-Z][-a-zA-Z0-9]* and have at most 128 characters");
}

std::string token_of(const api::Request& request, const char* member) {
  const std::string given = api::text_of(request.input, member);
  return given.empty() ? request.invocation : given;
}

Result<std::string, aws::Refusal> template_in(const Json& input, const Json& before) {
  if (!api::text_of(input, "TemplateURL").empty())
    return invalid("TemplateURL is not supported: pass the template as TemplateBody");
  const bool previous = api::flag_of(input, "UsePreviousTemplate");
  const std::string text = api::text_of(previous ? before : input, "TemplateBody");
  if (text.empty()) return invalid("Either Template URL or Template Body must be specified.");
  return text;
}

Result<std::map<std::string, std::string>, aws::Refusal> parameters_in(
    const Json& input, const cloudformation::Stack& stack, const Json& before) {
  std::map<std::string, std::string> parameters;
  for (const Json& each : api::elements(input, "Parameters")) {
    const std::string key = api::text_of(each, "ParameterKey");
    if (key.empty()) return invalid("A parameter has no ParameterKey.");
    std::string value = api::text_of(each, "ParameterValue");
    if (api::flag_of(each, "UsePreviousValue")) value = TRY(previous_value(key, stack, before));
    if (!parameters.emplace(key, std::move(value)).second)
      return invalid("Duplicate input parameter key " + key);
  }
  return parameters;
}

Json joined(Json networks, const Json& more) {
  for (const char* list : {"Vpcs", "Subnets", "SecurityGroups"})
    for (const Json& each : api::elements(more, list)) networks[list].push_back(each);
  return networks;
}

std::set<std::string> ids_in(const std::string& networks) {
  std::set<std::string> ids;
  const Result<Json> read = parse_json(networks);
  if (!read) return ids;
  const std::pair<const char*, const char*> lists[] = {
      {"Vpcs", "VpcId"}, {"Subnets", "SubnetId"}, {"SecurityGroups", "GroupId"}};
  for (const auto& [list, id] : lists)
    for (const Json& each : api::elements(*read, list)) ids.insert(api::text_of(each, id));
  return ids;
}

}  // namespace muster::server
