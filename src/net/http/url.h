#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::http {

/// The server part of a URL.
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
/// "http://host:port/path?query". Error: `invalid_input`: not an http(s) URL, or a URL with a user,
/// a fragment or an invalid character. The error text does not contain the URL, which may contain a
/// secret.
Result<Url> parse_url(std::string_view text);
/// "localhost", 127.0.0.0/8 and ::1: bytes sent there never leave this machine.
bool is_loopback(const std::string& host);

}  // namespace muster::http
