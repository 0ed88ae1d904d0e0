#include "aws/api/inputs.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// About the year 33658: beyond it milliseconds are cut.
constexpr double seconds_max = 1e12;

const Json* member(const Json& input, const char* name) {
  if (!input.is_object()) return nullptr;
  const Json::const_iterator found = input.find(name);
  return found == input.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const Json& input, const char* name) {
  return member_text(input, name);
}

std::optional<std::int64_t> integer_of(const Json& input, const char* name) {
  const Json* found = member(input, name);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

bool flag_of(const Json& input, const char* name) {
  const Json* found = member(input, name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_of(const Json& input, const char* name) {
  std::vector<std::string> texts;
  if (const Json* list = list_of(input, name))
    for (const Json& each : *list)
      if (each.is_string()) texts.push_back(each.get<std::string>());
  return texts;
}

std::optional<UnixMillis> time_of(const Json& input, const char* name) {
  const Json* found = member(input, name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const double epoch_seconds = found->get<double>();
  if (!std::isfinite(epoch_seconds)) return std::nullopt;
  const double cut = std::fmin(std::fmax(epoch_seconds, -seconds_max), seconds_max);
  return UnixMillis(std::llround(cut * 1000));
}

const Json* list_of(const Json& input, const char* name) {
  const Json* found = member(input, name);
  return found != nullptr && found->is_array() ? found : nullptr;
}

const Json* object_of(const Json& input, const char* name) {
  const Json* found = member(input, name);
  return found != nullptr && found->is_object() ? found : nullptr;
}

const Json& inside(const Json& input, std::initializer_list<const char*> names) {
  static const Json none = Json::object();
  const Json* here = &input;
  for (const char* name : names) {
    here = object_of(*here, name);
    if (here == nullptr) return none;
  }
  return *here;
}

const Json& elements(const Json& input, const char* name) {
  static const Json none = Json::array();
  const Json* list = list_of(input, name);
  return list == nullptr ? none : *list;
}

double seconds(UnixMillis time) {
  return static_cast<double>(time.count()) / 1000;
}

std::string page_token(const Json& place) {
  return hex(to_text(place));
}

std::optional<Json> place_of(const std::string& token) {
  const std::optional<std::string> text = from_hex(token);
  if (!text) return std::nullopt;
  const Result<Json> place = parse_json(*text);
  return place ? std::optional<Json>(*place) : std::nullopt;
}

aws::Refusal invalid(std::string message) {
  return {"ValidationException", std::move(message)};
}

aws::Refusal internal_failure(const Error& error) {
  return {"InternalFailure", error.text, 500};
}

}  // namespace muster::api
