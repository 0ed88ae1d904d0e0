#include "command/given.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::command {
namespace {

/// Flags with the same slot replace each other's values.
std::string_view slot_of(const Flag& flag) {
  return flag.name == text_hyperparameter_flag.name ? hyperparameter_flag.name : flag.name;
}

bool replaces(const Given::Value& above, const Given::Value& below) {
  if (slot_of(*above.flag) != slot_of(*below.flag)) return false;
  return !is_map(*below.flag) || name_in(above.text) == name_in(below.text);
}

/// Where the path in a value of the flag begins; npos: it has none.
std::size_t path_at(const Flag& flag, const std::string& text) {
  const std::string_view kind = flag.value;
  if (kind == "NAME=DIR") {
    const std::size_t equals = text.find('=');
    return equals == std::string::npos ? equals : equals + 1;
  }
  if (kind == "DIR" || kind == "FILE" || kind.starts_with("PATH[")) return 0;
  // A program without a slash is looked for on PATH.
  if (kind == "PATH") return text.find('/') == std::string::npos ? std::string::npos : 0;
  if (flag.name != "--image") return std::string::npos;
  for (const std::string_view transport : {"oci:", "docker-archive:"})
    if (text.starts_with(transport)) return transport.size();
  return std::string::npos;
}

}  // namespace

Given given_in(const Page& page, const Args& args) {
  Given given;
  auto end = args.end();
  if (page.rest == Rest::behind_dashes) end = std::find(args.begin(), args.end(), "--");
  if (end != args.end()) given.rest.emplace(end + 1, args.end());
  for (auto at = args.begin(); at != end; ++at) {
    if (*at == "--") {
      given.words.insert(given.words.end(), at, end);
      break;
    }
    const Flag* flag = at->starts_with("-") ? find_flag(page, *at) : nullptr;
    const std::size_t equals = at->find('=');
    const bool joined = equals != std::string::npos;
    if (flag == nullptr || (flag->takes_value() && !joined && at + 1 == end)) {
      given.words.push_back(*at);
    } else if (joined) {
      given.values.push_back({flag, at->substr(equals + 1)});
    } else {
      given.values.push_back({flag, flag->takes_value() ? *++at : "true"});
    }
  }
  return given;
}

Args args_of(const Given& given) {
  Args args;
  for (const Given::Value& value : given.values) {
    args.emplace_back(value.flag->name);
    if (value.flag->takes_value() || value.text != "true") args.back() += "=" + value.text;
  }
  args.insert(args.end(), given.words.begin(), given.words.end());
  if (!given.rest) return args;
  args.emplace_back("--");
  args.insert(args.end(), given.rest->begin(), given.rest->end());
  return args;
}

Given merged(Given below, const Given& above) {
  std::erase_if(below.values, [&](const Given::Value& value) {
    return std::any_of(above.values.begin(), above.values.end(),
                       [&](const Given::Value& each) { return replaces(each, value); });
  });
  below.values.insert(below.values.end(), above.values.begin(), above.values.end());
  below.words.insert(below.words.end(), above.words.begin(), above.words.end());
  if (above.rest) below.rest = above.rest;
  return below;
}

Given with_paths_from(const std::string& folder, Given given) {
  for (Given::Value& value : given.values) {
    const std::size_t at = path_at(*value.flag, value.text);
    if (at >= value.text.size() || value.text[at] == '/') continue;
    if (value.text.compare(at, 5, "s3://") != 0) value.text.insert(at, folder + "/");
  }
  return given;
}

bool is_map(const Flag& flag) {
  return flag.many && flag.value.find('=') != std::string_view::npos;
}

std::string_view name_in(std::string_view text) {
  return text.substr(0, text.find('='));
}

bool is_typed(std::string_view value) {
  if (value.empty() || trim(value) != value) return false;
  const Result<Json> json = parse_json(value);
  return json && !json->is_string();
}

}  // namespace muster::command
