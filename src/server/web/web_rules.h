#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/request_head.h"

namespace muster::web {

/// The rules of the web page: the requests that it accepts, and the headers that protect it against
/// other sites.
///
/// Pure: maps request headers to decisions. Source: docs/decisions/0056-browsers.md.

/// True for /ui and what is below it.
bool is_web_path(std::string_view path);

/// The kind of resource at a path below /ui/.
enum class Wanted {
  nothing,
  view,  ///< A view: index.html, which interprets the address itself.
  file,  ///< The file `name` in web/, of the edition that the path contains.
  call,  ///< `name`: a call of the page.
};
struct WebRoute {
  Wanted wanted = Wanted::nothing;
  std::string name;
};
/// `path` as received. Nothing is decoded: the page has no path that needs encoding.
WebRoute web_route(std::string_view path);

/// True if the Host header is an address, "localhost" or one of `names` (in lower case). DNS
/// rebinding cannot make a browser send an address or "localhost" for another site.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

/// True if the page itself makes the request, according to the header Sec-Fetch-Site or, if a
/// browser does not send it, because Origin equals Host.
bool is_from_own_page(const aws::RequestHead& head, bool tls);

/// True if a browser loads the response as a page or in a frame.
bool is_navigation(const aws::RequestHead& head);

/// The name of the cookie, by Host: browsers give a cookie to all ports of a machine.
std::string cookie_name(std::string_view host);
/// The value of cookie `name`; empty if it is missing, or occurs more than once.
std::string_view cookie_of(const aws::RequestHead& head, std::string_view name);

/// Headers of every response below /ui/.
std::vector<std::pair<std::string, std::string>> safety_headers();

}  // namespace muster::web
