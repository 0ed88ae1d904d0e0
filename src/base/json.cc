#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.h"

namespace muster {
namespace {

constexpr int nesting_max = 256;            // What walks a Json recurses.
constexpr std::size_t why_bytes_max = 240;  // The library quotes what it read, however long.

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > nesting_max) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (nests_too_deep(text))
    return fail(Errc::invalid_input, "arrays and objects are nested deeper than " +
                                         std::to_string(nesting_max) + " levels");
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    std::string what = error.what();
    const std::size_t at = what.find("at line");
    return fail(Errc::invalid_input,
                "not JSON " + what.substr(at == std::string::npos ? 0 : at, why_bytes_max));
  } catch (const Json::exception& error) {  // A number that no double can hold.
    const std::string what = error.what();
    return fail(Errc::invalid_input,
                "unsupported JSON: " +
                    what.substr(std::min(what.size(), what.find("] ") + 2), why_bytes_max));
  }
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string member_text(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace muster
