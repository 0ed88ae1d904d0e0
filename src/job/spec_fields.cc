#include "job/spec_fields.h"

#include "base/letters.h"
#include "base/text.h"

namespace muster::job {
bool only_has(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

Result<void> check_text(const std::string& field, std::string_view text) {
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    return expected(field, "UTF-8 text without NUL characters");
  return {};
}

Result<void> check_path(const std::string& field, std::string_view path, bool may_be_empty) {
  TRY(check_text(field, path));
  if (path.empty() && may_be_empty) return {};
  if (path.empty() || path.front() != '/') return expected(field, "an absolute path");
  return {};
}

Error invalid_message(const char* message, const std::string& why) {
  return fail(Errc::protocol, std::string(message) + ": " + why);
}

Result<Json> object_from(const char* message, std::string_view payload, std::size_t bytes_max) {
  if (payload.size() > bytes_max) return invalid_message(message, "too long");
  Result<Json> json = parse_json(payload);
  if (!json) return invalid_message(message, json.error().text);
  if (!json->is_object()) return invalid_message(message, "not an object");
  return json;
}

Result<std::int64_t> integer_at(const char* message, const Json& json, const char* name,
                                std::int64_t least, std::int64_t most) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer())
    return invalid_message(message, std::string("missing field ") + name);
  // Numbers beyond an int64_t come as unsigned ones.
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return invalid_message(message, std::string(name) + " is out of range");
  const std::int64_t number = found->get<std::int64_t>();
  if (number < least || number > most)
    return invalid_message(message, std::string(name) + " is out of range");
  return number;
}

Fields::Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
  if (!json.is_object()) note(path_.empty() ? "specification" : path_, "an object");
}

void Fields::text(const char* name, std::string& value, bool required) {
  const Json* const found = find(name, required);
  if (found == nullptr) return;
  if (!found->is_string()) return note(path_of(name), "text");
  value = found->get<std::string>();
}

void Fields::texts(const char* name, std::map<std::string, std::string>& value) {
  const Json* const found = find(name, false);
  if (found == nullptr) return;
  if (!found->is_object()) return note(path_of(name), "an object of strings");
  for (const auto& [key, item] : found->items()) {
    if (!item.is_string()) return note(path_of(name) + "[" + key + "]", "text");
    value[key] = item.get<std::string>();
  }
}

void Fields::text_list(const char* name, std::vector<std::string>& value) {
  const Json* const found = array(name);
  if (found == nullptr) return;
  for (std::size_t i = 0; i < found->size(); ++i) {
    if (!(*found)[i].is_string())
      return note(path_of(name) + "[" + std::to_string(i) + "]", "text");
    value.push_back((*found)[i].get<std::string>());
  }
}

const Json* Fields::array(const char* name) {
  const Json* const found = find(name, false);
  if (found != nullptr && !found->is_array()) note(path_of(name), "an array");
  return found != nullptr && found->is_array() ? found : nullptr;
}

const Json* Fields::object(const char* name) {
  const Json* const found = find(name, false);
  if (found != nullptr && !found->is_object()) note(path_of(name), "an object");
  return found != nullptr && found->is_object() ? found : nullptr;
}

void Fields::choice(const char* name, const char* no, const char* yes, bool& value) {
  std::string read;
  text(name, read);
  value = read == yes;
  if (!read.empty() && read != yes && read != no)
    note(path_of(name), std::string(no) + " or " + yes);
}

void Fields::flag(const char* name, bool& value) {
  const Json* const found = find(name, false);
  if (found == nullptr) return;
  if (!found->is_boolean()) return note(path_of(name), "true or false");
  value = found->get<bool>();
}

void Fields::no_others() {
  if (error_ || !json_.is_object()) return;
  for (const auto& [key, item] : json_.items())
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      return note(path_of(key), "no such field");
}

const Json* Fields::find(const char* name, bool required) {
  known_.emplace_back(name);
  if (!json_.is_object()) return nullptr;
  const Json::const_iterator found = json_.find(name);
  const bool there = found != json_.end() && !found->is_null();
  if (!there && required) note(path_of(name), "a value");
  return there ? &*found : nullptr;
}

}  // namespace muster::job
