#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// JSON of our own messages and files. What users wrote goes through job/training/python_json.h
/// instead, which keeps numbers as Python would.
using Json = nlohmann::json;

/// Error: `invalid_input` with line and column, or nested deeper than 256 levels. Never throws.
Result<Json> parse_json(std::string_view text);
/// Compact, sorted keys; bytes that are not UTF-8 are replaced by U+FFFD. Never throws.
std::string to_text(const Json& json);

}  // namespace muster
