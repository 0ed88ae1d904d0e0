#include "net/addresses/look_up.h"

#include <sys/socket.h>

#include "base/fd.h"
#include "net/addresses/interfaces.h"

namespace muster {
namespace {

// The discard port; connecting a datagram socket sends nothing.
constexpr const char* any_port = "9";

}  // namespace

Addresses look_up(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), any_port, &hints, &found);
  return {failed == 0 ? found : nullptr, ::freeaddrinfo};
}

std::optional<std::string> address_towards(const std::string& host) {
  const Addresses found = look_up(host, 0);
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const Fd socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    if (!socket || ::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
      continue;
    return numeric_address(reinterpret_cast<const sockaddr*>(&own));
  }
  return std::nullopt;
}

}  // namespace muster
