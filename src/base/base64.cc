#include "base/base64.h"

#include <cstdint>

namespace muster {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= group.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr unsigned bad = 64;
  const auto value_of = [](char c) -> unsigned {
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0' + 52);
    if (c == '+') return 62;
    return c == '/' ? 63 : bad;
  };
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  while (!text.empty()) {
    std::size_t digits = 4;
    if (text.size() == 4 && text[3] == '=') digits = text[2] == '=' ? 2 : 3;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const unsigned value = value_of(text[i]);
      if (value == bad) return std::nullopt;
      bits |= value << (18 - 6 * i);
    }
    const std::uint32_t unused = digits == 4 ? 0 : digits == 3 ? 0xFF : 0xFFFF;
    if ((bits & unused) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < digits; ++i)
      bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
    text.remove_prefix(4);
  }
  return bytes;
}

}  // namespace muster
