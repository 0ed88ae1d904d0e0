#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "command/job_file.h"

namespace muster::command {
namespace {

/// Whether YAML reads the text as a plain value as it is. Stricter than YAML.
bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ':') return false;
  const char first = text.front();
  const bool begins = is_letter_or_digit(first) || first == '/' || first == '.' || first == '_';
  const bool number = first == '-' && text.size() > 1 && is_letter_or_digit(text[1]);
  if (!begins && !number) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("_-./+=,@%:~").find(c) != std::string_view::npos;
  });
}

/// JSON's strings are YAML's but for characters that YAML wants escaped.
std::string quoted(const std::string& text) {
  const std::string json = to_text(Json(text));
  std::string result;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const bool c1 = json[at] == '\xc2' && at + 1 < json.size() && (json[at + 1] & 0xe0) == 0x80;
    if (c1) ++at;
    if (c1 || json[at] == '\x7f')
      result += "\\x" + hex(json.substr(at, 1));
    else
      result += json[at];
  }
  return result;
}

std::string scalar(const std::string& text) {
  return is_plain(text) ? text : quoted(text);
}

/// Lines of a block below a key of a map.
std::string block(const std::string& text) {
  std::string result = "|-";
  for (const std::string& line : muster::split(text, '\n')) result += "\n    " + line;
  return result;
}

/// What follows a name in a map.
std::string value_in_map(const Given::Value& value) {
  const std::string_view name = name_in(value.text);
  const std::string text = value.text.substr(std::min(name.size() + 1, value.text.size()));
  if (value.flag->name == text_hyperparameter_flag.name) return quoted(text);
  if (value.flag->name != hyperparameter_flag.name || !is_typed(text)) return scalar(text);
  return is_plain(text) ? text : block(text);
}

/// --text-hyperparameter is a quoted value of --hyperparameter.
std::string_view key_of(const Flag& flag) {
  return (flag.name == text_hyperparameter_flag.name ? hyperparameter_flag.name : flag.name)
      .substr(2);
}

std::string entry(const std::string& key, const std::vector<const Given::Value*>& values) {
  const Flag& flag = *values.front()->flag;
  if (!flag.takes_value()) return key + ": " + values.back()->text + "\n";
  if (!flag.many) return key + ": " + scalar(values.back()->text) + "\n";
  std::string text = key + ":\n";
  for (const Given::Value* value : values)
    text += is_map(flag) ? "  " + scalar(std::string(name_in(value->text))) + ": " +
                               value_in_map(*value) + "\n"
                         : "- " + scalar(value->text) + "\n";
  return text;
}

std::string file_of(const Given& given, const Page& page) {
  std::string file;
  if (!given.words.empty()) file += "script: " + scalar(given.words.front()) + "\n";
  for (const Flag& flag : page.flags) {
    const std::string_view key = key_of(flag);
    if (flag.name.substr(2) != key) continue;
    std::vector<const Given::Value*> values;
    for (const Given::Value& value : given.values)
      if (key_of(*value.flag) == key) values.push_back(&value);
    if (!values.empty()) file += entry(std::string(key), values);
  }
  if (!given.rest || given.rest->empty()) return file;
  file += "args:\n";
  for (const std::string& word : *given.rest) file += "- " + scalar(word) + "\n";
  return file;
}

/// Values in one order and one form, to compare them.
std::vector<std::string> comparable(const Given& given) {
  std::vector<std::string> all;
  for (const Given::Value& value : given.values) {
    std::string_view name = value.flag->name;
    const bool typed = is_typed(value.text.substr(value.text.find('=') + 1));
    if (name == text_hyperparameter_flag.name && !typed) name = hyperparameter_flag.name;
    const bool bare = is_map(*value.flag) && value.text.find('=') == std::string::npos;
    all.push_back(std::string(name) + "=" + value.text + (bare ? "=" : ""));
  }
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return name_in(a) < name_in(b);
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());  // A switch may be given twice.
  all.insert(all.end(), given.words.begin(), given.words.end());
  if (given.rest) all.insert(all.end(), given.rest->begin(), given.rest->end());
  return all;
}

/// What editors accept for a flag. Numbers and the like are texts to muster.
Json schema_of(const Flag& flag) {
  const Json text{{"type", {"string", "number", "boolean", "null"}}};
  Json schema{{"type", "boolean"}};
  if (flag.name == hyperparameter_flag.name)
    schema = {{"type", "object"}};
  else if (is_map(flag))
    schema = {{"type", {"object", "null"}}, {"additionalProperties", text}};
  else if (flag.many)
    schema = {{"type", {"array", "null"}}, {"items", text}};
  else if (flag.takes_value())
    schema = text;
  if (!flag.choices.empty()) schema = {{"enum", split_words(flag.choices)}};
  schema["description"] = flag.help;
  return schema;
}

}  // namespace

Result<std::string> job_file_of(const Given& given, const Page& page) {
  Given wanted = given;
  std::erase_if(wanted.values,
                [](const auto& value) { return value.flag->name == "--print-file"; });
  std::string file = file_of(wanted, page);
  const Result<Given> read = read_job_file(file, page);
  if (read && comparable(*read) == comparable(wanted)) return file;
  return fail(Errc::invalid_input,
              "--print-file: YAML cannot exactly represent a value of this command line" +
                  (read ? "" : " (" + read.error().text + ")"));
}

std::string job_file_schema() {
  Json properties = Json::object();
  for (const char* name : {"fit", "submit"})
    for (const Flag& flag : page_of(name).flags) {
      const std::string key(flag.name.substr(2));
      if (!properties.contains(key)) properties[key] = schema_of(flag);
    }
  properties["script"] = {{"type", "string"},
                          {"description", page_of("fit").operands.front().help}};
  properties["args"] = {{"type", {"array", "null"}},
                        {"items", {{"type", {"string", "number", "boolean", "null"}}}},
                        {"description", "arguments to pass to the script (sm fit only)"}};
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "muster job file"},
                    {"type", "object"},
                    {"properties", std::move(properties)},
                    {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace muster::command
