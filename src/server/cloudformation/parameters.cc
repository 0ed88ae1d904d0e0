#include "server/cloudformation/parameters.h"

#include <re2/re2.h>

#include <charconv>
#include <optional>

#include "base/text.h"

namespace muster::cloudformation {
namespace {

constexpr std::size_t value_bytes_max = 4096;
constexpr std::int64_t pattern_memory_max = 1 << 20;

using Checked = Result<void, aws::Refusal>;

std::optional<std::string> text_at(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  return found->is_primitive() ? std::optional<std::string>(to_text(*found)) : std::nullopt;
}

std::optional<double> number_from(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_list(const std::string& type) {
  return type == "CommaDelimitedList" || type.starts_with("List<");
}

/// What a list's elements are.
std::string element_type(const std::string& type) {
  if (!type.starts_with("List<") || !type.ends_with(">")) return type;
  return type.substr(5, type.size() - 6);
}

Checked check_type(const std::string& name, const std::string& type) {
  const std::string element = element_type(type);
  if (type == "String" || type == "CommaDelimitedList" || element == "Number") return {};
  if (element.starts_with("AWS::EC2::")) return {};  // A text that says for people what it is.
  return invalid("Template format error: Unrecognized parameter type: " + type + " of " + name);
}

Checked fails(const std::string& name, const Json& entry, const std::string& constraint) {
  const std::string said = text_at(entry, "ConstraintDescription").value_or("");
  return invalid("Parameter " + name +
                 " failed to satisfy constraint: " + (said.empty() ? constraint : said));
}

Checked check_pattern(const std::string& name, const Json& entry, const std::string& value) {
  const std::optional<std::string> pattern = text_at(entry, "AllowedPattern");
  if (!pattern) return {};
  re2::RE2::Options options;
  options.set_max_mem(pattern_memory_max);
  options.set_log_errors(false);
  const re2::RE2 expression(*pattern, options);
  if (!expression.ok())
    return invalid("Template format error: AllowedPattern of parameter " + name +
                   " cannot be read: " + expression.error());
  if (re2::RE2::FullMatch(value, expression)) return {};
  return fails(name, entry, "must match pattern " + *pattern);
}

/// The bounds of `entry` hold for the number `got`, which is a value or a text's length.
Checked check_bounds(const std::string& name, const Json& entry, const std::string& what,
                     double got) {
  const std::optional<double> least =
      number_from(text_at(entry, ("Min" + what).c_str()).value_or(""));
  const std::optional<double> most =
      number_from(text_at(entry, ("Max" + what).c_str()).value_or(""));
  if (least && got < *least)
    return fails(name, entry,
                 "must have Min" + what + " " + *text_at(entry, ("Min" + what).c_str()));
  if (most && got > *most)
    return fails(name, entry,
                 "must have Max" + what + " " + *text_at(entry, ("Max" + what).c_str()));
  return {};
}

Checked check_value(const std::string& name, const Json& entry, const std::string& type,
                    const std::string& value) {
  if (const auto allowed = entry.find("AllowedValues"); allowed != entry.end()) {
    if (!allowed->is_array())
      return invalid("Template format error: AllowedValues of parameter " + name +
                     " must be a list");
    bool is_one = false;
    for (const Json& each : *allowed)
      is_one = is_one || (each.is_string() ? each.get<std::string>() : to_text(each)) == value;
    if (!is_one) {
      const std::string said = text_at(entry, "ConstraintDescription").value_or("");
      if (!said.empty()) return fails(name, entry, said);
      return invalid("Parameter '" + name + "' must be one of AllowedValues");
    }
  }
  if (element_type(type) == "Number") {
    const std::optional<double> number = number_from(value);
    if (!number) return invalid("Parameter '" + name + "' must be a number.");
    TRY(check_bounds(name, entry, "Value", *number));
  } else {
    TRY(check_bounds(name, entry, "Length", static_cast<double>(value.size())));
  }
  return check_pattern(name, entry, value);
}

Checked check_entry(const std::string& name, const Json& entry) {
  static constexpr std::string_view known =
      " Type Default AllowedValues AllowedPattern MinLength MaxLength MinValue MaxValue "
      "ConstraintDescription Description NoEcho ";
  for (const auto& [word, each] : entry.items())
    if (known.find(" " + word + " ") == std::string_view::npos)
      return invalid("Invalid template parameter property '" + word + "'");
  const std::optional<std::string> type = text_at(entry, "Type");
  if (!type)
    return invalid("Template format error: Every Parameters object must contain a Type member.");
  return check_type(name, *type);
}

std::vector<std::string> elements_of(const std::string& text) {
  std::vector<std::string> elements;
  for (const std::string& each : split(text, ',')) elements.push_back(trim(each));
  return elements;
}

}  // namespace

bool is_secret(const Template& made, const std::string& parameter) {
  const auto found = made.parameters.find(parameter);
  return found != made.parameters.end() && text_at(*found, "NoEcho") == "true";
}

Result<std::map<std::string, std::string>, aws::Refusal> parameters_of(
    const Template& made, const std::map<std::string, std::string>& given) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : given)
    if (!made.parameters.contains(name)) unknown.push_back(name);
  if (!unknown.empty())
    return invalid("Parameters: [" + join(unknown, ", ") + "] do not exist in the template");
  std::map<std::string, std::string> values;
  std::vector<std::string> missing;
  for (const auto& [name, entry] : made.parameters.items()) {
    TRY(check_entry(name, entry));
    const auto own = given.find(name);
    const std::optional<std::string> value =
        own != given.end() ? std::optional<std::string>(own->second) : text_at(entry, "Default");
    if (!value) {
      missing.push_back(name);
      continue;
    }
    if (value->size() > value_bytes_max)
      return invalid("Parameter '" + name + "' is larger than 4096 bytes");
    const std::string type = *text_at(entry, "Type");
    for (const std::string& each : is_list(type) ? elements_of(*value) : std::vector{*value})
      TRY(check_value(name, entry, type, each));
    values.emplace(name, *value);
  }
  if (!missing.empty())
    return invalid("Parameters: [" + join(missing, ", ") + "] must have values");
  return values;
}

Json parameter_value(const Template& made, const std::string& name, const std::string& text) {
  if (!is_list(text_at(made.parameters.at(name), "Type").value_or(""))) return text;
  return elements_of(text);
}

}  // namespace muster::cloudformation
