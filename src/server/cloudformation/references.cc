#include "server/cloudformation/references.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace muster::cloudformation {
namespace {

void add_attribute(std::string_view dotted, References& found) {
  const std::string_view name = dotted.substr(0, dotted.find('.'));
  found.names.emplace(name);
  if (name != dotted) found.attributes.emplace(dotted);
}

void collect(const Json& value, References& found);

void collect_get_att(const Json& argument, References& found) {
  if (argument.is_string()) return add_attribute(argument.get<std::string>(), found);
  if (!argument.is_array() || argument.size() != 2 || !argument[0].is_string()) return;
  found.names.insert(argument[0].get<std::string>());
  if (argument[1].is_string())
    found.attributes.insert(argument[0].get<std::string>() + "." + argument[1].get<std::string>());
  else
    collect(argument[1], found);
}

void collect_sub(const Json& argument, References& found) {
  const bool has_own = argument.is_array() && argument.size() == 2 && argument[1].is_object();
  const Json& text = has_own ? argument[0] : argument;
  if (has_own)
    for (const auto& [name, each] : argument[1].items()) collect(each, found);
  if (!text.is_string()) return;
  for (const SubPiece& piece : sub_pieces(text.get<std::string>()))
    if (piece.is_name && !(has_own && argument[1].contains(piece.text)))
      add_attribute(piece.text, found);
}

void collect(const Json& value, References& found) {
  const std::string function = function_of(value);
  if (!function.empty()) {
    const Json& argument = value.front();
    if (function == "Ref" && argument.is_string()) found.names.insert(argument.get<std::string>());
    if (function == "Condition" && argument.is_string())
      found.conditions.insert(argument.get<std::string>());
    if (function == "Fn::If" && argument.is_array() && !argument.empty() && argument[0].is_string())
      found.conditions.insert(argument[0].get<std::string>());
    if (function == "Fn::GetAtt") return collect_get_att(argument, found);
    if (function == "Fn::Sub") return collect_sub(argument, found);
  }
  if (value.is_structured())
    for (const Json& each : value) collect(each, found);
}

using Needs = std::map<std::string, std::set<std::string>>;

Needs needs_of(const Template& made) {
  Needs needs;
  for (const auto& [name, resource] : made.resources) {
    std::set<std::string>& own = needs[name];
    own.insert(resource.after.begin(), resource.after.end());
    for (const std::string& each : references_of(resource.properties).names)
      if (made.resources.contains(each)) own.insert(each);
  }
  return needs;
}

/// The members of rings among resources that wait for one another; not those that wait for a ring.
std::vector<std::string> ring_of(Needs needs) {
  for (std::size_t before = 0; before != needs.size();) {
    before = needs.size();
    std::set<std::string> needed;
    for (const auto& [name, own] : needs) needed.insert(own.begin(), own.end());
    std::erase_if(needs, [&](const auto& each) { return !needed.contains(each.first); });
  }
  std::vector<std::string> names;
  for (const auto& [name, own] : needs) names.push_back(name);
  return names;
}

}  // namespace

std::string function_of(const Json& value) {
  if (!value.is_object() || value.size() != 1) return {};
  const std::string& name = value.begin().key();
  const bool is_call = name == "Ref" || name == "Condition" || name.starts_with("Fn::");
  return is_call ? name : std::string();
}

std::vector<SubPiece> sub_pieces(std::string_view text) {
  std::vector<SubPiece> pieces;
  while (!text.empty()) {
    const std::size_t start = text.find("${");
    const std::size_t end =
        start == std::string_view::npos ? std::string_view::npos : text.find('}', start);
    if (end == std::string_view::npos) {
      pieces.push_back({std::string(text)});
      break;
    }
    if (start > 0) pieces.push_back({std::string(text.substr(0, start))});
    const std::string_view name = text.substr(start + 2, end - start - 2);
    if (name.starts_with('!'))
      pieces.push_back({"${" + std::string(name.substr(1)) + "}"});
    else
      pieces.push_back({trim(name), true});
    text.remove_prefix(end + 1);
  }
  return pieces;
}

References references_of(const Json& value) {
  References found;
  collect(value, found);
  return found;
}

Result<std::vector<std::string>, aws::Refusal> in_order(const Template& made) {
  Needs needs = needs_of(made);
  std::vector<std::string> order;
  std::set<std::string> placed;
  while (!needs.empty()) {
    const std::size_t before = order.size();
    for (const auto& [name, own] : needs)
      if (std::includes(placed.begin(), placed.end(), own.begin(), own.end()))
        order.push_back(name);
    if (order.size() == before)
      return invalid("Circular dependency between resources: [" + join(ring_of(needs), ", ") + "]");
    for (std::size_t at = before; at < order.size(); ++at) {
      placed.insert(order[at]);
      needs.erase(order[at]);
    }
  }
  return order;
}

}  // namespace muster::cloudformation
