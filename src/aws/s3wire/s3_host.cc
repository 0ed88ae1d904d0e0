#include "aws/s3wire/s3_host.h"

#include <algorithm>

#include "base/text.h"

namespace muster::s3wire {
namespace {

constexpr std::string_view of_registry = "registry";  ///< The server's own images have it.

bool is_address(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Without the port, the brackets and the dot that ends a full name.
std::string_view host_alone(std::string_view host) {
  const std::size_t port = host.rfind(':');
  if (port != std::string_view::npos && host.find(']', port) == std::string_view::npos)
    host = host.substr(0, port);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace

HostNames host_names(std::string_view name, std::string_view s3_domain,
                     const std::vector<std::string>& others) {
  HostNames names{others, {"localhost"}};
  if (!name.empty() && is_address(name))
    names.own.emplace_back(name);
  else if (!name.empty())
    names.domains.push_back(lower_case(name));
  if (!s3_domain.empty()) names.domains.push_back(lower_case(s3_domain));
  // Between "s3.example.org" and "example.org" the longer one says more.
  std::sort(names.domains.begin(), names.domains.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  names.own.insert(names.own.end(), names.domains.begin(), names.domains.end());
  return names;
}

Result<std::string, aws::Refusal> bucket_of_host(std::string_view host, const HostNames& names) {
  const std::string_view alone = host_alone(host);
  const std::string lower = lower_case(alone);
  if (is_address(alone) || std::find(names.own.begin(), names.own.end(), lower) != names.own.end())
    return std::string();
  for (const std::string& domain : names.domains) {
    if (lower.size() < domain.size() + 2 || !lower.ends_with("." + domain)) continue;
    std::string bucket(alone.substr(0, alone.size() - domain.size() - 1));
    return bucket == of_registry ? std::string() : bucket;
  }
  return aws::s3_refusal(
      "InvalidRequest",
      "This server does not serve the host name \"" + to_utf8(alone.substr(0, 255)) +
          "\". To allow this name, set name, s3_domain or page_names in the server's config.");
}

}  // namespace muster::s3wire
