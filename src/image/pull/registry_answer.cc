#include "image/pull/registry_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::image {
namespace {

constexpr std::size_t code_bytes_max = 64;
constexpr std::size_t message_bytes_max = 300;

std::string member(const Json& json, const char* name, std::size_t bytes_max) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_string()) return "";
  std::string text = to_utf8(at->get<std::string>().substr(0, bytes_max));
  const auto control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  std::replace_if(text.begin(), text.end(), control, ' ');
  return text;
}

}  // namespace

Result<http::Url> redirected(const http::Url& from, const http::Head& answer, bool plain) {
  const std::string place = answer.value("Location");
  if (place.starts_with('/') && !place.starts_with("//")) {
    const Result<http::Url> whole = http::parse_url("http://x" + place);
    if (!whole) return fail(Errc::unsupported, "the registry redirects to an invalid URL");
    return http::Url{from.origin, whole->target};
  }
  Result<http::Url> to = http::parse_url(place);
  if (!to) return fail(Errc::unsupported, "the registry redirects to a URL other than http(s)");
  const bool clear = from.origin.tls
                         ? to->origin.tls
                         : to->origin.tls || plain || http::is_loopback(to->origin.host);
  if (!clear)
    return fail(Errc::unsupported,
                "the registry redirects to " + to->origin.authority() + " without TLS");
  return to;
}

std::optional<std::uint64_t> range_begin(std::string_view content_range, std::uint64_t total) {
  constexpr std::string_view unit = "bytes ";
  const std::size_t dash = content_range.find('-');
  const std::size_t slash = content_range.find('/');
  if (!content_range.starts_with(unit) || dash == std::string_view::npos ||
      slash == std::string_view::npos || slash < dash)
    return std::nullopt;
  const auto first = parse_integer(content_range.substr(unit.size(), dash - unit.size()));
  const auto last = parse_integer(content_range.substr(dash + 1, slash - dash - 1));
  const std::string_view all = content_range.substr(slash + 1);
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  if (static_cast<std::uint64_t>(*last) + 1 != total) return std::nullopt;
  if (all != "*" && all != std::to_string(total)) return std::nullopt;
  return static_cast<std::uint64_t>(*first);
}

std::string failure_in(std::string_view body) {
  const Result<Json> json = parse_json(body);
  if (!json || !json->is_object() || !json->contains("errors")) return "";
  const Json& errors = (*json)["errors"];
  if (!errors.is_array() || errors.empty() || !errors[0].is_object()) return "";
  const std::string code = member(errors[0], "code", code_bytes_max);
  const std::string message = member(errors[0], "message", message_bytes_max);
  return code + (code.empty() || message.empty() ? "" : ": ") + message;
}

Error failure_of(const http::Head& head, std::string_view body, const std::string& what,
                 const std::string& login) {
  const std::string own = failure_in(body);
  const std::string says = own.empty() ? "" : "; the registry says: " + own;
  const int status = head.status;
  if (status == 404) return fail(Errc::not_found, what + says);
  if (status == 401 || status == 403)
    return fail(Errc::denied,
                (login.empty() ? what + ", or a login is required: run docker login, which stores "
                                        "the login in ~/.docker/config.json"
                               : "the registry denied access with the login from " + login) +
                    says);
  const Errc code = status >= 500 || status == 429 || status == 408 ? Errc::closed : Errc::protocol;
  return fail(code, "the registry returned " + std::to_string(status) + says);
}

}  // namespace muster::image
