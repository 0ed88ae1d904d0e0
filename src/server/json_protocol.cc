#include "server/json_protocol.h"

#include <nlohmann/json.hpp>

namespace muster::server {

namespace {

Refusal not_serialized(std::string message) {
  return {"SerializationException", std::move(message)};
}

/// True if brackets outside of texts nest deeper than nesting_max: what walks a Json recurses.
bool nests_too_deep(std::string_view body) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
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

std::variant<Json, Refusal> read_json(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();
  if (nests_too_deep(body))
    return not_serialized("nested deeper than " + std::to_string(nesting_max) + " levels");
  Result<Json> json = parse_json(body);
  if (!json) return not_serialized(json.error().text);
  if (json->is_array()) return not_serialized("Start of list found where not expected");
  if (!json->is_object()) return not_serialized("the body is no structure");
  return *std::move(json);
}

std::string write_json_refusal(const Refusal& refusal) {
  return to_text({{"__type", refusal.code}, {"message", refusal.message}});
}

}  // namespace muster::server
