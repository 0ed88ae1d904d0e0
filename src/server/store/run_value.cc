#include "server/store/run_value.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"

namespace muster::store {
namespace {

constexpr std::string_view ellipsis = "…";
/// Beyond this, not every whole number is a double.
constexpr double exact_max = 9007199254740992.0;  // 2^53

std::string unquoted(std::string_view written) {
  if (written.size() < 2 || written.front() != '"' || written.back() != '"')
    return std::string(written);
  const Result<Json> json = parse_json(written);
  return json && json->is_string() ? json->get<std::string>() : std::string(written);
}

std::string cut(std::string text) {
  if (text.size() <= run_value_bytes_max) return text;
  std::size_t size = run_value_bytes_max - ellipsis.size();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size) + std::string(ellipsis);
}

/// Not what from_chars accepts besides: inf, nan.
bool begins_as_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() &&
         (text.front() == '.' || std::isdigit(static_cast<unsigned char>(text[0])));
}

std::optional<RunKey> number_in(std::string_view text) {
  if (!begins_as_number(text)) return std::nullopt;
  if (const std::optional<std::int64_t> whole = parse_integer(text)) return RunKey(*whole);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, trouble] = std::from_chars(text.data(), end, value);
  if (trouble != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return run_key(value);
}

}  // namespace

RunKey run_key(double number) {
  if (std::abs(number) < exact_max && number == std::floor(number))
    return static_cast<std::int64_t>(number);
  return number;
}

RunValue run_value(std::string_view written) {
  std::string text = cut(unquoted(written));
  const std::optional<RunKey> number = number_in(text);
  RunKey key = number ? *number : RunKey(text);
  return {std::move(key), std::move(text)};
}

}  // namespace muster::store
