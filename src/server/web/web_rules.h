#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/request_head.h"

namespace muster::web {

/// What the web page lets in, and by which headers it keeps others out.
///
/// Pure: heads come in, decisions go out. Source: docs/decisions/0056-browsers.md.

/// True for /ui and what is below it.
bool is_web_path(std::string_view path);

/// What a path below /ui/ asks for.
enum class Wanted {
  nothing,
  view,  ///< A view: index.html, which interprets the address itself.
  file,  ///< `name` of web/, in the edition in the path.
  call,  ///< `name`: a call of the page.
};
struct WebRoute {
  Wanted wanted = Wanted::nothing;
  std::string name;
};
/// `path` as received. Nothing is decoded: the page has no path that needs encoding.
WebRoute web_route(std::string_view path);

/// True if the Host header names this server: addresses and localhost, which no other
/// name server can hand out, and `names`, in lower case.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

/// True if the page itself makes the request: by the browser's word for it, Sec-Fetch-Site, or by
/// an Origin that is Host, where a browser sends no such word.
bool is_from_own_page(const aws::RequestHead& head, bool tls);

/// True if a browser opens it as a page, or in a frame of a page.
bool is_navigation(const aws::RequestHead& head);

/// The name of the cookie, by Host: browsers give a cookie to all ports of a machine.
std::string cookie_name(std::string_view host);
/// The value of cookie `name`; empty if it is missing, or occurs more than once.
std::string_view cookie_of(const aws::RequestHead& head, std::string_view name);

/// For every answer below /ui/.
std::vector<std::pair<std::string, std::string>> safety_headers();

}  // namespace muster::web
