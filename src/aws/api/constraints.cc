#include "aws/api/constraints.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::api {

namespace {

constexpr std::size_t shown_bytes_max = 1024;
constexpr double time_max = 253402300799;  // 9999-12-31T23:59:59Z

/// Compiled when first asked for, then kept: patterns live as long as the program.
const re2::RE2& compiled(const Pattern& pattern) {
  static std::mutex mutex;
  static std::map<const Pattern*, std::unique_ptr<re2::RE2>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<re2::RE2>& one = all[&pattern];
  if (!one) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(1 << 20);
    one = std::make_unique<re2::RE2>(re2::StringPiece(pattern.re2.data(), pattern.re2.size()),
                                     options);
    CHECK_THAT(one->ok(), "a pattern of the model does not compile");
  }
  return *one;
}

std::string_view type_name(const Json& value) {
  if (value.is_string()) return "STRING_VALUE";
  if (value.is_boolean()) return value.get<bool>() ? "TRUE_VALUE" : "FALSE_VALUE";
  return "NUMBER_VALUE";
}

/// A number without fraction that a double or an integer holds exactly; none otherwise.
std::optional<std::int64_t> whole(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(no_max)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const double number = value.get<double>();
  if (!(std::abs(number) <= 9007199254740992.0) || std::trunc(number) != number)
    return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool fits(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::string:
      return value.is_string();
    case Kind::boolean:
      return value.is_boolean();
    case Kind::real:
      return value.is_number();
    case Kind::timestamp:
      return value.is_number() && std::abs(value.get<double>()) <= time_max;
    case Kind::long_integer:
      return value.is_number() && whole(value);
    case Kind::integer: {
      const std::optional<std::int64_t> number = value.is_number() ? whole(value) : std::nullopt;
      return number && *number >= std::numeric_limits<std::int32_t>::min() &&
             *number <= std::numeric_limits<std::int32_t>::max();
    }
    case Kind::list:
      return value.is_array();
    case Kind::map:
    case Kind::structure:
      return value.is_object();
  }
  return false;
}

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::string:
      return "a String";
    case Kind::boolean:
      return "a Boolean";
    case Kind::real:
      return "a Double";
    case Kind::timestamp:
      return "milliseconds since epoch";
    case Kind::long_integer:
      return "a Long";
    case Kind::integer:
      return "an Integer";
    case Kind::list:
      return "list";
    case Kind::map:
      return "map";
    case Kind::structure:
      break;
  }
  return "structure";
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view measured(Kind kind) {
  const bool number = kind == Kind::integer || kind == Kind::long_integer || kind == Kind::real;
  return number ? "value" : "length";
}

std::string at_most(const Shape& shape) {
  return "Member must have " + std::string(measured(shape.kind)) + " less than or equal to " +
         std::to_string(shape.max);
}

std::string at_least(const Shape& shape) {
  return "Member must have " + std::string(measured(shape.kind)) + " greater than or equal to " +
         std::to_string(shape.min);
}

std::string match(const Service& service, const Shape& shape) {
  return "Member must satisfy regular expression pattern: " +
         std::string(service.patterns[shape.pattern].text);
}

std::string one_of(const Service& service, const Shape& shape) {
  std::vector<std::string> words;
  for (const std::string_view word : service.words_of(shape)) words.emplace_back(word);
  return "Member must satisfy enum value set: [" + join(words, ", ") + "]";
}

/// Below `min` is -1, above `max` 1.
int beyond(const Shape& shape, const Json& value) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (shape.min != no_min && number < static_cast<double>(shape.min)) return -1;
    return shape.max != no_max && number > static_cast<double>(shape.max) ? 1 : 0;
  }
  const std::size_t size =
      value.is_string() ? characters(value.get_ref<const std::string&>()) : value.size();
  const auto number = static_cast<std::int64_t>(size);
  if (shape.min != no_min && number < shape.min) return -1;
  return shape.max != no_max && number > shape.max ? 1 : 0;
}

bool is_word(const Service& service, const Shape& shape, const std::string& text) {
  const std::span<const std::string_view> words = service.words_of(shape);
  return std::ranges::find(words, text) != words.end();
}

bool has_enum(const Shape& shape) {
  return shape.kind == Kind::string && shape.count != 0;
}

/// Appends to `out`, and stops soon after it has grown too long.
void show(const Json& value, std::string& out) {
  if (out.size() > shown_bytes_max) return;
  if (value.is_string()) {
    out += std::string_view(value.get_ref<const std::string&>()).substr(0, shown_bytes_max + 1);
    return;
  }
  if (!value.is_structured()) {
    out += to_text(value);
    return;
  }
  out += value.is_array() ? '[' : '{';
  bool first = true;
  for (const auto& [key, each] : value.items()) {
    if (out.size() > shown_bytes_max) return;
    if (!first) out += ", ";
    first = false;
    if (value.is_object()) out += key.substr(0, shown_bytes_max) + "=";
    show(each, out);
  }
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::optional<std::string> type_misfit(Kind kind, const Json& value) {
  if (fits(kind, value)) return std::nullopt;
  const std::string wanted(kind_text(kind));
  if (kind == Kind::list || kind == Kind::map || kind == Kind::structure)
    return "Expected " + wanted + " or null";
  if (value.is_object()) return "Start of structure or map found where not expected";
  if (value.is_array()) return "Start of list found where not expected";
  return std::string(type_name(value)) + " can not be converted to " + wanted;
}

std::vector<std::string> broken(const Service& service, const Shape& shape, const Json& value) {
  std::vector<std::string> found;
  const int size = beyond(shape, value);
  if (size > 0) found.push_back(at_most(shape));
  if (size < 0) found.push_back(at_least(shape));
  if (!value.is_string()) return found;
  const std::string& text = value.get_ref<const std::string&>();
  if (shape.pattern != no_shape &&
      !re2::RE2::FullMatch(text, compiled(service.patterns[shape.pattern])))
    found.push_back(match(service, shape));
  if (has_enum(shape) && !is_word(service, shape, text)) found.push_back(one_of(service, shape));
  return found;
}

std::vector<std::string> constraints(const Service& service, const Shape& shape) {
  std::vector<std::string> all;
  if (shape.max != no_max) all.push_back(at_most(shape));
  if (shape.min != no_min) all.push_back(at_least(shape));
  if (shape.pattern != no_shape) all.push_back(match(service, shape));
  if (has_enum(shape)) all.push_back(one_of(service, shape));
  return all;
}

std::string shown_value(const Json& value) {
  if (value.is_null()) return "null";
  std::string text;
  show(value, text);
  if (text.size() > shown_bytes_max) {
    std::size_t end = shown_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  return "'" + text + "'";
}

}  // namespace muster::api
