#include "server/operations/search.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "aws/api/inputs.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::server {
namespace {

constexpr int depth_max = 20;

/// All values at the path, through lists.
void collect(const Json& at, std::string_view path, std::vector<const Json*>& values) {
  if (at.is_array()) {
    for (const Json& each : at) collect(each, path, values);
    return;
  }
  if (path.empty()) return values.push_back(&at);
  if (!at.is_object()) return;
  // Keys of maps (hyperparameters) may have dots themselves: the whole rest is tried first.
  const Json::const_iterator whole = at.find(std::string(path));
  if (whole != at.end()) return collect(*whole, {}, values);
  const std::size_t dot = path.find('.');
  const Json::const_iterator member = at.find(std::string(path.substr(0, dot)));
  if (dot == std::string_view::npos || member == at.end()) return;
  collect(*member, path.substr(dot + 1), values);
}

std::vector<const Json*> values_at(const Json& record, const std::string& path) {
  std::vector<const Json*> values;
  constexpr std::string_view tags = "Tags.";
  if (!path.starts_with(tags)) {
    collect(record, path, values);
    return values;
  }
  if (const Json* list = api::list_of(record, "Tags"))
    for (const Json& each : *list)
      if (api::text_of(each, "Key") == path.substr(tags.size()))
        values.push_back(&each.at("Value"));
  return values;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : to_text(value);
}

/// The numeric meaning of a value: a number, a number's text or a time's.
std::optional<double> measure(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  double number = 0;
  const auto [stop, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (trouble == std::errc() && stop == text.data() + text.size()) return number;
  return parse_iso8601(text);
}

bool holds(const Json& value, const std::string& verb, const std::string& wanted) {
  if (verb == "Contains") return shown(value).find(wanted) != std::string::npos;
  if (verb == "In") {
    const std::vector<std::string> list = split(wanted, ',');
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& each) { return trim(each) == shown(value); });
  }
  const std::optional<double> left = measure(value);
  const std::optional<double> right = measure(Json(wanted));
  if (verb == "Equals") return left && right ? *left == *right : shown(value) == wanted;
  if (!left || !right) return false;
  if (verb == "GreaterThan") return *left > *right;
  if (verb == "GreaterThanOrEqualTo") return *left >= *right;
  if (verb == "LessThan") return *left < *right;
  return verb == "LessThanOrEqualTo" && *left <= *right;
}

bool filter_holds(const Json& record, const Json& filter) {
  const std::vector<const Json*> values = values_at(record, api::text_of(filter, "Name"));
  std::string verb = api::text_of(filter, "Operator");
  const std::string wanted = api::text_of(filter, "Value");
  if (verb.empty()) verb = wanted.empty() ? "Exists" : "Equals";
  if (verb == "Exists") return !values.empty();
  if (verb == "NotExists") return values.empty();
  const auto any = [&](const std::string& by) {
    return std::any_of(values.begin(), values.end(),
                       [&](const Json* each) { return holds(*each, by, wanted); });
  };
  return verb == "NotEquals" ? !any("Equals") : any(verb);
}

bool matches_below(const Json& record, const Json& expression, int depth) {
  if (depth > depth_max) return false;
  const bool is_or = api::text_of(expression, "Operator") == "Or";
  std::vector<bool> parts;
  if (const Json* filters = api::list_of(expression, "Filters"))
    for (const Json& each : *filters) parts.push_back(filter_holds(record, each));
  if (const Json* below = api::list_of(expression, "SubExpressions"))
    for (const Json& each : *below) parts.push_back(matches_below(record, each, depth + 1));
  const auto is_true = [](bool part) { return part; };
  if (parts.empty()) return true;
  return is_or ? std::any_of(parts.begin(), parts.end(), is_true)
               : std::all_of(parts.begin(), parts.end(), is_true);
}

}  // namespace

bool matches(const Json& record, const Json& expression) {
  return matches_below(record, expression, 0);
}

Json property(const Json& record, const std::string& path) {
  const std::vector<const Json*> values = values_at(record, path);
  return values.empty() ? Json() : *values.front();
}

}  // namespace muster::server
