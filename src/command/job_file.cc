#include "command/job_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "base/yaml.h"
#include "command/nearest.h"

namespace muster::command {
namespace {

constexpr std::array commands = {"fit", "submit"};

Error at_line(std::size_t line, const std::string& text) {
  return fail(Errc::invalid_input, text).in("line " + std::to_string(line));
}

const Flag* flag_of(const Page& page, const std::string& key) {
  if (key.find('=') != std::string::npos) return nullptr;
  const Flag* flag = find_flag(page, "--" + key);
  return flag == &help_flag() ? nullptr : flag;
}

bool has_key(const Page& page, const std::string& key) {
  if (key == "args") return page.rest == Rest::behind_dashes;
  return key == "script" || flag_of(page, key) != nullptr;
}

Error unknown_key(const YamlNode& node, const Page& page) {
  for (const char* other : commands)
    if (has_key(page_of(other), node.key))
      return at_line(node.key_line, "\"" + node.key + "\" is supported only by sm " + other +
                                        ", not by sm " + std::string(page.name));
  std::vector<std::string_view> known = {"script", "args"};
  for (const Flag& flag : page.flags) known.push_back(flag.name.substr(2));
  const std::string_view near = nearest(node.key, known);
  return at_line(node.key_line,
                 "unknown key \"" + node.key + "\"" +
                     (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
}

/// `kind`: what is expected there.
Error wrong_kind(const YamlNode& node, const std::string& key, const std::string& kind) {
  return at_line(node.line, key + ": expected " + kind);
}

Result<std::string> text_of(const YamlNode& node, const std::string& key, const std::string& kind) {
  if (!node.is_scalar()) return wrong_kind(node, key, kind);
  return node.text;
}

bool is_empty(const YamlNode& node) {
  return node.kind == YamlNode::Kind::plain && node.text.empty();
}

Result<Args> texts_of(const YamlNode& node, const std::string& key) {
  Args texts;
  if (is_empty(node)) return texts;
  if (node.kind != YamlNode::Kind::list) return wrong_kind(node, key, "a list");
  for (const YamlNode& item : node.items)
    texts.push_back(TRY(text_of(item, key, "a list of strings")));
  return texts;
}

/// A hyperparameter: which flag says it.
Result<Given::Value> hyperparameter_of(const YamlNode& node, const Page& page) {
  const Flag* flag = find_flag(page, hyperparameter_flag.name);
  if (!node.is_scalar()) return Given::Value{flag, node.key + "=" + to_text(TRY(json_of(node)))};
  const std::string text = TRY(text_of(node, node.key, "a value"));
  if (node.kind == YamlNode::Kind::quoted && is_typed(text))
    flag = find_flag(page, text_hyperparameter_flag.name);
  return Given::Value{flag, node.key + "=" + text};
}

Result<void> take_map(const YamlNode& node, const Flag& flag, const Page& page, Given& given) {
  if (is_empty(node)) return {};
  if (node.kind != YamlNode::Kind::map)
    return wrong_kind(node, node.key, "a map, " + std::string(flag.value));
  for (const YamlNode& item : node.items) {
    if (item.key.empty() || item.key.find('=') != std::string::npos)
      return at_line(item.key_line, node.key + ": expected a name without \"=\"");
    if (flag.name == hyperparameter_flag.name)
      given.values.push_back(TRY(hyperparameter_of(item, page)));
    else
      given.values.push_back(
          {&flag, item.key + "=" + TRY(text_of(item, node.key, "a map of strings"))});
  }
  return {};
}

Result<void> take_flag(const YamlNode& node, const Flag& flag, const Page& page, Given& given) {
  if (is_map(flag)) return take_map(node, flag, page, given);
  if (flag.many) {
    for (std::string& text : TRY(texts_of(node, node.key)))
      given.values.push_back({&flag, std::move(text)});
    return {};
  }
  const std::string expected =
      flag.takes_value() ? "a value, " + std::string(flag.value) : "true or false";
  std::string text = TRY(text_of(node, node.key, expected));
  const bool is_switch = node.kind == YamlNode::Kind::plain && (text == "true" || text == "false");
  if (!flag.takes_value() && !is_switch) return wrong_kind(node, node.key, expected);
  given.values.push_back({&flag, std::move(text)});
  return {};
}

}  // namespace

bool is_job_file(std::string_view script) {
  return script.ends_with(".yaml") || script.ends_with(".yml");
}

Result<Given> read_job_file(std::string_view text, const Page& page) {
  const YamlNode root = TRY(read_yaml(text));
  if (root.kind != YamlNode::Kind::map)
    return at_line(root.line, "expected a map of keys and values");
  TRY(json_of(root));  // Refuses tags.
  Given given;
  std::set<const Flag*> flags;
  for (const YamlNode& node : root.items) {
    if (!has_key(page, node.key)) return unknown_key(node, page);
    if (node.key == "script") {
      given.words.push_back(TRY(text_of(node, node.key, "a path")));
    } else if (node.key == "args") {
      given.rest = TRY(texts_of(node, node.key));
    } else {
      const Flag* flag = flag_of(page, node.key);
      if (!flags.insert(flag).second)  // '-' and '_' are the same.
        return at_line(node.key_line, "the key " + node.key + " appears twice");
      TRY(take_flag(node, *flag, page, given));
    }
  }
  return given;
}

}  // namespace muster::command
