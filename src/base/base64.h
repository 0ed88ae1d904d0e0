#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Base64 of any bytes, with the standard alphabet, padded. Pure.
std::string base64(std::string_view bytes);
/// Accepts the standard alphabet with padding and nothing else; none for any other text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace muster
