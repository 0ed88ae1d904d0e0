#include "server/web/web_rules.h"

#include <algorithm>

#include "base/letters.h"
#include "base/text.h"
#include "server/web/web_files.h"

namespace muster::web {
namespace {

constexpr std::string_view root = "/ui/";
constexpr std::string_view calls = "call/";

bool is_name_letter(char c) {
  return is_letter_or_digit(c) || c == '-';
}

/// "train-1", "log": names of jobs and of their views.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_letter);
}

bool is_view(std::string_view rest) {
  if (rest.empty() || rest == "jobs" || rest == "machine" || rest == "access") return true;
  if (rest == "runs" || rest == "runs/compare") return true;
  if (!rest.starts_with("jobs/")) return false;
  rest.remove_prefix(5);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return is_name(rest);
  return is_name(rest.substr(0, slash)) && is_name(rest.substr(slash + 1));
}

/// "[::1]:7700" without the port, and without brackets.
std::string_view host_alone(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
  if (host.find(':') != std::string_view::npos)
    return host.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  const std::vector<std::string> parts = split(host, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           const std::optional<std::int64_t> number = parse_integer(part);
           return number && *number >= 0 && *number <= 255;
         });
}

}  // namespace

bool is_web_path(std::string_view path) {
  return path == "/ui" || path.starts_with(root);
}

WebRoute web_route(std::string_view path) {
  if (!path.starts_with(root)) return {};
  std::string_view rest = path.substr(root.size());
  if (is_view(rest)) return {Wanted::view, {}};
  if (rest.starts_with(calls)) {
    rest.remove_prefix(calls.size());
    return is_name(rest) ? WebRoute{Wanted::call, std::string(rest)} : WebRoute{};
  }
  const std::string_view edition = web_edition();
  if (!rest.starts_with(edition) || rest.substr(edition.size(), 1) != "/") return {};
  rest.remove_prefix(edition.size() + 1);
  return {Wanted::file, std::string(rest)};
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  const std::string_view alone = host_alone(host);
  if (alone.empty()) return false;
  if (is_address(alone)) return true;
  const std::string name = lower_case(alone);
  return name == "localhost" || std::find(names.begin(), names.end(), name) != names.end();
}

bool is_from_own_page(const aws::RequestHead& head, bool tls) {
  if (const std::optional<std::string_view> site = head.header("sec-fetch-site"))
    return *site == "same-origin";
  const std::optional<std::string_view> origin = head.header("origin");
  const std::optional<std::string_view> host = head.header("host");
  if (!origin || !host) return false;
  return *origin == (tls ? "https://" : "http://") + std::string(*host);
}

bool is_navigation(const aws::RequestHead& head) {
  if (const std::optional<std::string_view> mode = head.header("sec-fetch-mode"))
    return *mode == "navigate";
  const std::optional<std::string_view> accept = head.header("accept");
  return accept && accept->find("text/html") != std::string_view::npos;
}

std::string cookie_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  std::string port(colon == std::string_view::npos ? "" : host.substr(colon + 1));
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos) return "muster";
  return "muster-" + port;
}

std::string_view cookie_of(const aws::RequestHead& head, std::string_view name) {
  std::string_view found;
  for (const auto& [key, value] : head.headers) {
    if (!same_letters(key, "cookie")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      std::string_view each = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), each.size() + 1));
      while (each.starts_with(' ')) each.remove_prefix(1);
      if (each.size() <= name.size() || !each.starts_with(name) || each[name.size()] != '=')
        continue;
      if (!found.empty()) return {};
      found = each.substr(name.size() + 1);
    }
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> safety_headers() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
       "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
}

}  // namespace muster::web
