#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster::aws {

/// The head of an HTTP request as received. Pure: views only; the reader of the request owns the
/// bytes.
using HeaderView = std::pair<std::string_view, std::string_view>;

/// "x-amz-…", in any case.
inline bool is_x_amz(std::string_view name) {
  constexpr std::string_view start = "x-amz-";
  return name.size() > start.size() && same_letters(name.substr(0, start.size()), start);
}

struct RequestHead {
  std::string_view method;              ///< "GET"
  std::string_view target;              ///< As in the request line: "/bucket/a%20b?uploads".
  std::span<const HeaderView> headers;  ///< In the order in which they came, names in any case.

  /// The first header with that name; none if it is missing.
  std::optional<std::string_view> header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (same_letters(key, name)) return value;
    return std::nullopt;
  }
  std::string_view path() const { return target.substr(0, target.find('?')); }
  /// The part after the first '?'; empty without one.
  std::string_view query() const {
    const std::size_t mark = target.find('?');
    return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  }
};

}  // namespace muster::aws
