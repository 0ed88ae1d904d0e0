#include "net/http/url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/letters.h"
#include "base/port.h"
#include "base/text.h"

namespace muster::http {
namespace {

bool is_url_byte(char c) {
  return c > ' ' && c < '\x7f' &&
         std::string_view("\"<>\\^`{|}#").find(c) == std::string_view::npos;
}

Result<void> read_authority(std::string_view text, Origin& origin) {
  const bool bracketed = text.starts_with('[');
  const std::size_t host_end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && host_end == std::string_view::npos)
    return fail(Errc::invalid_input, "not a URL: '[' without ']'");
  origin.host = text.substr(bracketed ? 1 : 0, bracketed ? host_end - 1 : host_end);
  const auto is_v6_byte = [](char c) { return c == ':' || is_name_byte(c); };
  const bool plausible = std::all_of(origin.host.begin(), origin.host.end(), [&](char c) {
    return bracketed ? is_v6_byte(c) : is_name_byte(c);
  });
  if (origin.host.empty() || origin.host.size() > 253 || !plausible)
    return fail(Errc::invalid_input, "not a URL: it contains no host name");
  std::string_view rest =
      host_end == std::string_view::npos ? "" : text.substr(host_end + (bracketed ? 1 : 0));
  if (rest.empty()) return {};
  const std::optional<std::uint16_t> port =
      rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port)
    return fail(Errc::invalid_input, "not a URL: the port is not a number from 1 to 65535");
  origin.port = *port;
  return {};
}

}  // namespace

std::string Origin::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  if (text.starts_with("https://"))
    url.origin = {.tls = true, .host = "", .port = 443};
  else if (text.starts_with("http://"))
    url.origin = {.tls = false, .host = "", .port = 80};
  else
    return fail(Errc::invalid_input, "not a URL: expected http://… or https://…");
  if (!std::all_of(text.begin(), text.end(), is_url_byte))
    return fail(Errc::invalid_input,
                "not a URL: it contains a space, a fragment or an invalid character");
  text.remove_prefix(url.origin.tls ? 8 : 7);
  const std::size_t target_at = std::min(text.find_first_of("/?"), text.size());
  if (text.substr(0, target_at).find('@') != std::string_view::npos)
    return fail(Errc::invalid_input, "a URL must not contain a user name");
  TRY(read_authority(text.substr(0, target_at), url.origin));
  url.target = text.substr(target_at);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

bool is_loopback(const std::string& host) {
  in_addr v4{};  // Compares addresses, because a name may start with the same text.
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "::1";
}

}  // namespace muster::http
