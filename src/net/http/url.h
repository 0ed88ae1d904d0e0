#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::http {

/// Whom to call.
struct Origin {
  bool tls = true;
  std::string host;  ///< A name or a numeric address; IPv6 without brackets.
  std::uint16_t port = 443;

  bool operator==(const Origin&) const = default;
  auto operator<=>(const Origin&) const = default;
  /// As in the Host header: "name", "name:8080", "[::1]:8080".
  std::string authority() const;
};

struct Url {
  Origin origin;
  std::string target;  ///< Path and query, unchanged; starts with "/".
};
/// "http://host:port/path?query". Error: `invalid_input`: no http(s) URL, or with a user, a
/// fragment, or a character that no URL holds. The text does not repeat the URL: it may hold a
/// secret.
Result<Url> parse_url(std::string_view text);
/// "localhost", 127.0.0.0/8 and ::1: bytes to there leave no machine.
bool is_loopback(const std::string& host);

}  // namespace muster::http
