#include "aws/api/json_protocol.h"

#include <nlohmann/json.hpp>

namespace muster::api {

namespace {

aws::Refusal not_serialized(std::string message) {
  return {"SerializationException", std::move(message)};
}

}  // namespace

Result<Json, aws::Refusal> read_json(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();
  Result<Json> json = parse_json(body);
  if (!json) return not_serialized(json.error().text);
  if (json->is_array()) return not_serialized("Start of list found where not expected");
  if (!json->is_object()) return not_serialized("the body is not a JSON object");
  return *std::move(json);
}

std::string write_json_refusal(const aws::Refusal& refusal) {
  return to_text({{"__type", refusal.code}, {"message", refusal.message}});
}

}  // namespace muster::api
