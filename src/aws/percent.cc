#include "aws/percent.h"

#include <algorithm>

#include "base/letters.h"

namespace muster::aws {

std::string percent_encoded(std::string_view text, bool keep_slash) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = is_name_byte(c) || c == '~' || (c == '/' && keep_slash);
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 15];
  }
  return encoded;
}

std::string encoded_query(Pairs query) {
  for (auto& [name, value] : query) {
    name = percent_encoded(name, false);
    value = percent_encoded(value, false);
  }
  std::sort(query.begin(), query.end());
  std::string text;
  for (const auto& [name, value] : query) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
      continue;
    }
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit(text[i + 1]);
    const int low = digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::optional<Pairs> decoded_query(std::string_view query) {
  Pairs pairs;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (one.empty()) continue;
    const std::size_t equals = std::min(one.find('='), one.size());
    std::optional<std::string> name = percent_decoded(one.substr(0, equals), true);
    std::optional<std::string> value =
        percent_decoded(one.substr(std::min(equals + 1, one.size())), true);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace muster::aws
