#include "net/sockets/tcp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "net/addresses/interfaces.h"

namespace muster::loop {
namespace {

void set_option(const Fd& socket, int level, int name, int value) {
  ::setsockopt(socket.get(), level, name, &value, sizeof value);
}

bool is_loopback(const TcpAddress& address) {
  sockaddr_in v4{};
  std::memcpy(&v4, &address.storage, sizeof v4);
  return address.family() == AF_INET && ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// The kernel chooses the port on connect. If the address cannot be bound, the connection uses any
/// address.
void bind_to(const Fd& socket, const std::string& from) {
  set_option(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (::inet_pton(AF_INET, from.c_str(), &v4.sin_addr) != 1) return;
  static_cast<void>(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4));
}

/// A lookup in progress. The thread and the caller share it, so that either may end first.
struct Lookup {
  std::string host;
  std::uint16_t port = 0;
  Fd done;  ///< Closed by the thread at the end, which wakes the reader.
  std::mutex mutex;
  std::vector<TcpAddress> addresses;
  std::string failure;
};

Result<std::vector<TcpAddress>> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (failed != 0) return fail(Errc::not_found, host + ": " + ::gai_strerror(failed));
  std::vector<TcpAddress> addresses;
  for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
    TcpAddress address;
    address.size = item->ai_addrlen;
    std::memcpy(&address.storage, item->ai_addr, item->ai_addrlen);
    addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return addresses;
}

void run(const std::shared_ptr<Lookup>& lookup) {
  Result<std::vector<TcpAddress>> found = look_up(lookup->host, lookup->port, 0);
  const std::lock_guard<std::mutex> lock(lookup->mutex);
  if (found)
    lookup->addresses = *std::move(found);
  else
    lookup->failure = found.error().text;
  lookup->done.reset();
}

/// Starts a detached thread for a lookup, which may hang if a name server is silent.
Result<void> start(std::shared_ptr<Lookup> lookup) {
  try {
    std::thread(run, std::move(lookup)).detach();
    return {};
  } catch (const std::system_error& error) {
    return fail(Errc::system, std::string("cannot start a thread: ") + error.what());
  }
}

}  // namespace

std::string numeric(const TcpAddress& address) {
  const std::string whole = numeric_address(reinterpret_cast<const sockaddr*>(&address.storage));
  return whole.starts_with("::ffff:") ? whole.substr(7) : whole;
}

std::uint16_t port_of(const TcpAddress& address) {
  sockaddr_in v4{};  // The port is at the same offset for both families.
  std::memcpy(&v4, &address.storage, sizeof v4);
  return ntohs(v4.sin_port);
}

Task<Result<std::vector<TcpAddress>>> resolve(Loop& loop, std::string host, std::uint16_t port,
                                              TimePoint deadline) {
  Result<std::vector<TcpAddress>> numeric_one = look_up(host, port, AI_NUMERICHOST);
  if (numeric_one) co_return numeric_one;
  Result<Pipe> pipe = make_pipe();
  if (!pipe) co_return pipe.error();
  auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  lookup->port = port;
  lookup->done = std::move(pipe->write);
  Result<void> started = start(lookup);
  if (!started) co_return started.error();
  Watch watch(loop, pipe->read.get());
  const bool answered = co_await watch.readable(deadline);
  if (!answered) co_return fail(Errc::timeout, host + ": no response from the name service");
  const std::lock_guard<std::mutex> lock(lookup->mutex);
  if (!lookup->failure.empty()) co_return fail(Errc::not_found, lookup->failure);
  co_return std::move(lookup->addresses);
}

Task<Result<Fd>> tcp_connect(Loop& loop, TcpAddress address, TimePoint deadline, std::string from) {
  Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) co_return fail(Errc::system, errno_text("cannot open a socket"));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (!from.empty() && is_loopback(address)) bind_to(socket, from);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket.get(), name, address.size) != 0 && errno != EINPROGRESS)
    co_return fail(Errc::system, errno_text("cannot connect"));
  bool answered = false;
  {
    Watch watch(loop, socket.get());
    answered = co_await watch.writable(deadline);
  }
  if (!answered) co_return fail(Errc::timeout, "no response");
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) co_return fail(Errc::system, std::strerror(failure));
  co_return socket;
}

Result<Fd> tcp_listen(std::uint16_t port, const std::string& address) {
  const std::string where = (address.empty() ? "" : address + " ") + "port " + std::to_string(port);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!address.empty() && !is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1)
    return fail(Errc::invalid_input, where + ": expected an address");
  Fd socket;
  if (!is_v4) socket = Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  TcpAddress at;
  if (socket) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    std::memcpy(&at.storage, &v6, at.size = sizeof v6);
  } else {
    socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fail(Errc::system, errno_text("cannot listen on " + where));
    std::memcpy(&at.storage, &v4, at.size = sizeof v4);
  }
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // Closed sessions of the last job linger.
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return fail(Errc::system, errno_text("cannot listen on " + where));
  return socket;
}

TcpAddress own_address(const Fd& socket) {
  TcpAddress address;
  address.size = sizeof address.storage;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

Fd tcp_accept(const Fd& listener, TcpAddress& from) {
  from.size = sizeof from.storage;
  Fd socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from.storage), &from.size,
                      SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

}  // namespace muster::loop
