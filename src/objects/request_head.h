#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace muster::objects {

/// The head of an HTTP request as it came over the wire. Pure: views only; whoever reads the
/// request owns the bytes.
using HeaderView = std::pair<std::string_view, std::string_view>;

/// ASCII letters in any case are the same.
inline bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

struct RequestHead {
  std::string_view method;              ///< "GET"
  std::string_view target;              ///< As in the request line: "/bucket/a%20b?uploads".
  std::span<const HeaderView> headers;  ///< In the order in which they came, names in any case.

  /// The first header of that name; none if there is none.
  std::optional<std::string_view> header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (same_name(key, name)) return value;
    return std::nullopt;
  }
  std::string_view path() const { return target.substr(0, target.find('?')); }
  /// Behind the first '?'; empty without one.
  std::string_view query() const {
    const std::size_t mark = target.find('?');
    return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  }
};

}  // namespace muster::objects
