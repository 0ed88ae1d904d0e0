#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aws/refusal.h"
#include "base/result.h"

namespace muster::s3wire {

/// By which names a server may be called, in small letters. Addresses and localhost always may.
struct HostNames {
  std::vector<std::string> own{};      ///< Requests to them are path style.
  std::vector<std::string> domains{};  ///< Domains; a label before one of them is a bucket.
};

/// The names in a config: "" if it has none. `name` is a domain if it is not an address.
HostNames host_names(std::string_view name, std::string_view s3_domain,
                     const std::vector<std::string>& others);

/// The bucket of a virtual-host style request, by its Host header; empty for path style. A host
/// that is neither the server's own nor below a domain is refused: read as path style it would name
/// another bucket than its client means. Pure.
Result<std::string, aws::Refusal> bucket_of_host(std::string_view host, const HostNames& names);

}  // namespace muster::s3wire
