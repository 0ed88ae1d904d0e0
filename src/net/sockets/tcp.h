#pragma once

// Inside loop/ only: TCP sockets below TLS. Asio's own sockets are not close-on-exec from their
// creation.

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "net/loop/wait.h"

namespace muster::loop {

/// A TCP address of a family that the kernel supports.
struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family() const { return storage.ss_family; }
};

/// "10.0.0.1", "fe80::1"; an IPv4 address seen through an IPv6 socket reads as IPv4.
std::string numeric(const TcpAddress& address);
std::uint16_t port_of(const TcpAddress& address);

/// All addresses of `host`. A numeric address is used as it is; a name is looked up on a separate
/// thread. Errors: `not_found`, `timeout`.
Task<Result<std::vector<TcpAddress>>> resolve(Loop& loop, std::string host, std::uint16_t port,
                                              TimePoint deadline);

/// Connected, non-blocking, with TCP_NODELAY. `from`: a source address in 127.0.0.0/8, if `address`
/// is in this network too. Errors: `system`, `timeout`.
Task<Result<Fd>> tcp_connect(Loop& loop, TcpAddress address, TimePoint deadline,
                             std::string from = {});

/// Listens on a numeric address; without one, on all addresses of the machine: IPv4 and, if
/// supported, IPv6.
Result<Fd> tcp_listen(std::uint16_t port, const std::string& address = {});
/// The address that the socket has on this machine.
TcpAddress own_address(const Fd& socket);

/// The next waiting connection. Error: errno, EAGAIN if none is waiting.
Fd tcp_accept(const Fd& listener, TcpAddress& from);

}  // namespace muster::loop
