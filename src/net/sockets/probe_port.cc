#include "net/sockets/probe_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/terminal.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

/// Errors: `timeout`, `closed`, `protocol`.
Task<Result<void>> read_greeting(Loop& loop, const Fd& socket, const std::string& expected,
                                 TimePoint deadline) {
  Watch watch(loop, socket.get());
  std::string said;
  while (said.size() < expected.size()) {
    const bool readable = co_await watch.readable(deadline);
    if (!readable) co_return fail(Errc::timeout, "no response");
    std::array<char, 16> part{};
    const ssize_t count =
        ::recv(socket.get(), part.data(), std::min(part.size(), expected.size() - said.size()), 0);
    if (count < 0) co_return fail(Errc::closed, errno_text("cannot receive"));
    if (count == 0) co_return fail(Errc::closed, "the connection was closed immediately");
    said.append(part.data(), static_cast<std::size_t>(count));
    if (!expected.starts_with(said))
      co_return fail(Errc::protocol, "the server responded with \"" + visible_line(said) +
                                         "\", expected \"" + expected + "\"");
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> port_answers(Loop& loop, std::string host, std::uint16_t port,
                                Greetings greetings, TimePoint deadline) {
  Result<std::vector<TcpAddress>> addresses = co_await resolve(loop, host, port, deadline);
  if (!addresses) co_return addresses.error();
  Error last = fail(Errc::not_found, host + ": the name has no address");
  for (const TcpAddress& address : *addresses) {
    Result<Fd> socket = co_await tcp_connect(loop, address, deadline);
    if (!socket) {
      last = socket.error();
      continue;
    }
    if (::send(socket->get(), greetings.ours.data(), greetings.ours.size(), MSG_NOSIGNAL) < 0)
      co_return fail(Errc::closed, errno_text("cannot send"));
    co_return co_await read_greeting(loop, *socket, greetings.theirs, deadline);
  }
  co_return last;
}

Result<std::vector<std::uint16_t>> free_ports(int count) {
  std::vector<Fd> held;  // All stay open, so that no port is returned twice.
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < count; ++i) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof(address);
    sockaddr* const any = reinterpret_cast<sockaddr*>(&address);
    if (!socket || ::bind(socket.get(), any, size) != 0 ||
        ::getsockname(socket.get(), any, &size) != 0)
      return fail_errno("cannot find a free port");
    ports.push_back(ntohs(address.sin_port));
    held.push_back(std::move(socket));
  }
  return ports;
}

Result<std::string> address_of(const std::string& host) {
  for (const int family : {AF_INET, AF_UNSPEC}) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) continue;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      return std::string(text.data());
  }
  return fail(Errc::not_found, host + ": the name has no address");
}

}  // namespace muster::loop
