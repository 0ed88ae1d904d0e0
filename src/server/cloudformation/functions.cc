#include "server/cloudformation/functions.h"

#include <set>

#include "base/address_block.h"
#include "base/base64.h"
#include "base/text.h"
#include "server/cloudformation/references.h"

namespace muster::cloudformation {
namespace {

constexpr std::size_t weight_max = 4u << 20;
constexpr std::size_t element_weight = 32;
constexpr std::int64_t blocks_max = 256;

aws::Refusal template_error(const std::string& text) {
  return invalid("Template error: " + text);
}

aws::Refusal wrong_use(const std::string& function, const std::string& expected) {
  return template_error("every " + function + " object requires " + expected);
}

/// A value as text: what is written as number or truth value, too.
std::optional<std::string> as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return to_text(value);
  return std::nullopt;
}

std::size_t weight_of(const Json& value) {
  if (value.is_string()) return element_weight + value.get_ref<const std::string&>().size();
  std::size_t weight = element_weight;
  if (value.is_structured())
    for (const Json& each : value) weight += weight_of(each);
  return weight;
}

}  // namespace

bool is_pseudo_parameter(std::string_view name) {
  static const std::set<std::string, std::less<>> all = {
      "AWS::Region",    "AWS::AccountId", "AWS::StackName",        "AWS::StackId",
      "AWS::Partition", "AWS::URLSuffix", "AWS::NotificationARNs", "AWS::NoValue"};
  return all.contains(name);
}

void Functions::add(const std::string& name, std::string id,
                    std::map<std::string, std::string> attributes) {
  names_.values.insert_or_assign(name, Json(std::move(id)));
  names_.attributes.insert_or_assign(name, std::move(attributes));
}

Result<void, aws::Refusal> Functions::spend(std::size_t weight) {
  spent_ += weight;
  if (spent_ <= weight_max) return {};
  return template_error("the values of its functions are larger than " +
                        std::to_string(weight_max >> 20) + " MiB in total");
}

Result<Json, aws::Refusal> Functions::value(const Json& written) {
  if (const std::string function = function_of(written); !function.empty())
    return call(function, written.front());
  if (written.is_object()) {
    Json made = Json::object();
    for (const auto& [name, each] : written.items())
      if (Json member = TRY(value(each)); !member.is_null()) made[name] = std::move(member);
    return made;
  }
  if (written.is_array()) {
    Json made = Json::array();
    for (const Json& each : written)
      if (Json element = TRY(value(each)); !element.is_null()) made.push_back(std::move(element));
    return made;
  }
  if (const std::optional<std::string> text = as_text(written)) return Json(*text);
  return written;
}

Result<Json, aws::Refusal> Functions::call(const std::string& function, const Json& argument) {
  static const std::map<std::string, Value (Functions::*)(const Json&)> calls = {
      {"Ref", &Functions::ref},           {"Fn::GetAtt", &Functions::get_att},
      {"Fn::Sub", &Functions::sub},       {"Fn::Join", &Functions::join},
      {"Fn::Split", &Functions::split},   {"Fn::Select", &Functions::select},
      {"Fn::If", &Functions::choose},     {"Fn::GetAZs", &Functions::get_azs},
      {"Fn::Cidr", &Functions::cidr},     {"Fn::FindInMap", &Functions::find_in_map},
      {"Fn::Base64", &Functions::base64},
  };
  const auto found = calls.find(function);
  if (found != calls.end()) return (this->*found->second)(argument);
  if (function == "Fn::ImportValue")
    return template_error("Fn::ImportValue is not supported: pass the value as a parameter");
  // A property may be called so; its values are not of a condition here.
  if (function == "Condition")
    return template_error("a Condition is used where a value is expected");
  return template_error("Encountered unsupported function: " + function);
}

Result<Json, aws::Refusal> Functions::named(const std::string& name) {
  if (name == "AWS::NoValue") return Json();
  const auto found = names_.values.find(name);
  if (found == names_.values.end())  // A resource whose condition does not hold.
    return invalid("Template format error: Unresolved resource dependencies [" + name +
                   "] in the Resources block of the template");
  TRY(spend(weight_of(found->second)));
  return found->second;
}

Result<Json, aws::Refusal> Functions::ref(const Json& argument) {
  if (!argument.is_string()) return wrong_use("Ref", "one string that is not empty");
  return named(argument.get<std::string>());
}

Result<Json, aws::Refusal> Functions::get_att(const Json& argument) {
  std::string name;
  std::string attribute;
  if (argument.is_array() && argument.size() == 2 && argument[0].is_string()) {
    name = argument[0].get<std::string>();
    attribute = TRY(text("Fn::GetAtt", argument[1]));
  } else if (argument.is_string()) {
    const std::string dotted = argument.get<std::string>();
    const std::size_t dot = std::min(dotted.find('.'), dotted.size());
    name = dotted.substr(0, dot);
    attribute = dotted.substr(std::min(dot + 1, dotted.size()));
  }
  if (name.empty() || attribute.empty())
    return wrong_use("Fn::GetAtt", "two non-empty parameters, the resource name and the attribute");
  TRY(named(name));
  const auto resource = names_.attributes.find(name);
  const bool is_there = resource != names_.attributes.end() && resource->second.contains(attribute);
  if (!is_there)
    return template_error("resource " + name + " does not support attribute type " + attribute +
                          " in Fn::GetAtt");
  return Json(resource->second.at(attribute));
}

Result<Json, aws::Refusal> Functions::sub(const Json& argument) {
  const bool has_own = argument.is_array() && argument.size() == 2 && argument[1].is_object();
  const Json& written = has_own ? argument[0] : argument;
  if (!written.is_string())
    return template_error(
        "One or more Fn::Sub intrinsic functions don't specify expected arguments. "
        "Specify a string as first argument, and an optional second argument to specify a "
        "mapping of values to replace in the string");
  std::string made;
  for (const SubPiece& piece : sub_pieces(written.get<std::string>())) {
    std::string part = piece.text;
    if (piece.is_name) {
      const bool is_own = has_own && argument[1].contains(piece.text);
      const Json call_of = piece.text.find('.') == std::string::npos
                               ? Json{{"Ref", piece.text}}
                               : Json{{"Fn::GetAtt", piece.text}};
      part = TRY(text("Fn::Sub", is_own ? argument[1][piece.text] : call_of));
    }
    TRY(spend(part.size()));
    made += part;
  }
  return Json(std::move(made));
}

Result<Json, aws::Refusal> Functions::arguments(const std::string& function, const Json& argument,
                                                std::size_t count) {
  if (!argument.is_array() || argument.size() != count)
    return wrong_use(function, "a list of " + std::to_string(count) + " parameters");
  Json made = Json::array();
  for (const Json& each : argument) made.push_back(TRY(value(each)));
  return made;
}

Result<std::string, aws::Refusal> Functions::text(const std::string& function,
                                                  const Json& written) {
  const Json made = TRY(value(written));
  if (std::optional<std::string> found = as_text(made)) return *std::move(found);
  return wrong_use(function, "strings for its parameters");
}

Result<Json, aws::Refusal> Functions::join(const Json& argument) {
  const Json given = TRY(arguments("Fn::Join", argument, 2));
  if (!given[0].is_string() || !given[1].is_array())
    return wrong_use("Fn::Join",
                     "two parameters, (1) a string delimiter and (2) a list of strings to be "
                     "joined");
  std::string made;
  bool is_first = true;
  for (const Json& each : given[1]) {
    const std::optional<std::string> part = as_text(each);
    if (!part) return wrong_use("Fn::Join", "a list of strings to be joined");
    TRY(spend(part->size() + given[0].get_ref<const std::string&>().size()));
    if (!is_first) made += given[0].get<std::string>();
    made += *part;
    is_first = false;
  }
  return Json(std::move(made));
}

Result<Json, aws::Refusal> Functions::split(const Json& argument) {
  const Json given = TRY(arguments("Fn::Split", argument, 2));
  if (!given[0].is_string() || !given[1].is_string() ||
      given[0].get_ref<const std::string&>().empty())
    return wrong_use("Fn::Split", "two parameters, (1) a string delimiter and (2) a string");
  const std::string delimiter = given[0].get<std::string>();
  const std::string whole = given[1].get<std::string>();
  Json made = Json::array();
  for (std::size_t start = 0; start <= whole.size();) {
    const std::size_t end = std::min(whole.find(delimiter, start), whole.size());
    TRY(spend(element_weight + end - start));
    made.push_back(whole.substr(start, end - start));
    start = end + delimiter.size();
  }
  return made;
}

Result<Json, aws::Refusal> Functions::select(const Json& argument) {
  const Json given = TRY(arguments("Fn::Select", argument, 2));
  const std::optional<std::string> number = as_text(given[0]);
  const std::optional<std::int64_t> index = number ? parse_integer(*number) : std::nullopt;
  if (!index || !given[1].is_array())
    return wrong_use("Fn::Select", "two non-empty parameters, an integer index and a list");
  if (*index < 0 || *index >= static_cast<std::int64_t>(given[1].size()))
    return template_error("Fn::Select cannot select nonexistent value at index " +
                          std::to_string(*index));
  return given[1][static_cast<std::size_t>(*index)];
}

Result<Json, aws::Refusal> Functions::get_azs(const Json& argument) {
  std::string region = TRY(text("Fn::GetAZs", argument));
  if (region.empty()) region = names_.region;
  if (region != names_.region)
    return template_error("Fn::GetAZs: this server is in " + names_.region + " alone");
  return Json{region + "a", region + "b", region + "c"};
}

Result<Json, aws::Refusal> Functions::find_in_map(const Json& argument) {
  const Json given = TRY(arguments("Fn::FindInMap", argument, 3));
  const Json* here = &template_.mappings;
  for (const Json& each : given) {
    const std::optional<std::string> key = as_text(each);
    const bool is_there = key && here->is_object() && here->contains(*key);
    if (!is_there)
      return template_error("Unable to get mapping for " + given[0].dump() +
                            "::" + given[1].dump() + "::" + given[2].dump());
    here = &(*here)[*key];
  }
  TRY(spend(weight_of(*here)));
  // Mappings hold texts and lists of them; a function in one is not carried out.
  if (const std::optional<std::string> found = as_text(*here)) return Json(*found);
  if (!here->is_array())
    return template_error("Fn::FindInMap: mapping values must be strings or lists");
  Json made = Json::array();
  for (const Json& each : *here) made.push_back(as_text(each).value_or(""));
  return made;
}

Result<Json, aws::Refusal> Functions::choose(const Json& argument) {
  if (!argument.is_array() || argument.size() != 3 || !argument[0].is_string())
    return template_error(
        "Fn::If requires a list argument with the first element being a condition");
  const bool holds = TRY(condition(argument[0].get<std::string>()));
  return value(argument[holds ? 1 : 2]);
}

Result<Json, aws::Refusal> Functions::base64(const Json& argument) {
  const std::string plain = TRY(text("Fn::Base64", argument));
  TRY(spend(2 * plain.size()));
  return Json(muster::base64(plain));
}

Result<Json, aws::Refusal> Functions::cidr(const Json& argument) {
  const std::size_t size = argument.is_array() && argument.size() == 2 ? 2 : 3;
  const Json given = TRY(arguments("Fn::Cidr", argument, size));
  const Result<AddressBlock> whole = block_from(as_text(given[0]).value_or(""));
  const auto number_at = [&given](std::size_t at) {
    return parse_integer(as_text(given[at]).value_or("")).value_or(0);
  };
  const std::int64_t count = number_at(1);
  const std::int64_t bits = size == 3 ? number_at(2) : 8;
  if (!whole || count < 1 || count > blocks_max || bits < 1 || bits > 32 - whole->prefix_length)
    return wrong_use("Fn::Cidr", "an IPv4 block, a count of 1 to 256 and a number of bits");
  if (count << bits > std::int64_t{1} << (32 - whole->prefix_length))
    return template_error("Fn::Cidr: " + muster::cidr(*whole) + " has no " + std::to_string(count) +
                          " blocks of " + std::to_string(bits) + " bits");
  Json made = Json::array();
  for (std::int64_t at = 0; at < count; ++at) {
    const std::uint32_t first = whole->address + static_cast<std::uint32_t>(at << bits);
    made.push_back(muster::cidr({first, 32 - static_cast<int>(bits)}));
  }
  TRY(spend(weight_of(made)));
  return made;
}

Result<bool, aws::Refusal> Functions::condition(const std::string& name) {
  const auto [decided, is_new] = decided_.try_emplace(name);
  if (decided->second) return *decided->second;
  if (!is_new) return template_error("Circular dependency of conditions: [" + name + "]");
  const auto written = template_.conditions.find(name);
  if (written == template_.conditions.end())
    return invalid("Template format error: Unresolved condition dependency " + name);
  const bool holds = TRY(truth(*written));
  decided->second = holds;
  return holds;
}

Result<bool, aws::Refusal> Functions::all_or_any(const Json& argument, bool is_all) {
  const std::string function = is_all ? "Fn::And" : "Fn::Or";
  if (!argument.is_array() || argument.size() < 2 || argument.size() > 10)
    return wrong_use(function, "a list of at least 2 and at most 10 boolean parameters");
  bool holds = is_all;
  for (const Json& each : argument) {
    const bool one = TRY(truth(each));
    holds = is_all ? holds && one : holds || one;
  }
  return holds;
}

Result<bool, aws::Refusal> Functions::truth(const Json& written) {
  const std::string function = function_of(written);
  if (function.empty())
    return template_error("every Conditions member must be a function of conditions");
  const Json& argument = written.front();
  if (function == "Condition" && argument.is_string())
    return condition(argument.get<std::string>());
  if (function == "Fn::And" || function == "Fn::Or")
    return all_or_any(argument, function == "Fn::And");
  if (function == "Fn::Not") {
    if (!argument.is_array() || argument.size() != 1)
      return wrong_use("Fn::Not", "a list with one condition");
    const bool holds = TRY(truth(argument[0]));
    return !holds;
  }
  if (function == "Fn::Equals") {
    const Json given = TRY(arguments("Fn::Equals", argument, 2));
    return given[0] == given[1];
  }
  return template_error(
      "Conditions can only be boolean operations on parameters and other conditions, got " +
      function);
}

}  // namespace muster::cloudformation
