#include "host/measure/pair.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fields.h"
#include "base/text.h"

namespace muster::preflight {
namespace {

constexpr int strangers_max = 16;
constexpr int backlog = 16;
constexpr int round_trips_max = 100;
constexpr Duration round_trips_time = std::chrono::milliseconds(25);
constexpr char ping = 'p';
constexpr char data_begins = 'd';
constexpr std::size_t block_bytes = 256u << 10;
constexpr int buffer_bytes = 1 << 20;  ///< The rest that a slow route may have to drain at the end.

using Numeric = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Numeric numeric(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const bool is_none =
      ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0;
  return {is_none ? nullptr : found, ::freeaddrinfo};
}

/// False at the deadline.
bool ready(const Fd& socket, short events, TimePoint deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{socket.get(), events, 0};
    const int count = ::poll(&wanted, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (count > 0) return true;
    if (count == 0 && Clock::now() >= deadline - std::chrono::milliseconds(1)) return false;
    if (count < 0 && errno != EINTR) return false;
  }
}

/// The number of bytes read of `size`; fewer at the deadline, or if the other side has closed.
std::size_t send_all(const Fd& socket, const char* bytes, std::size_t size, TimePoint deadline) {
  std::size_t sent = 0;
  while (sent < size) {
    const ssize_t count = ::send(socket.get(), bytes + sent, size - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return sent;
    if (count < 0 && !ready(socket, POLLOUT, deadline)) return sent;
    if (Clock::now() >= deadline) return sent;
  }
  return sent;
}

std::string receive_exactly(const Fd& socket, std::size_t size, TimePoint deadline) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size && ready(socket, POLLIN, deadline)) {
    const ssize_t count = ::recv(socket.get(), bytes.data() + have, size - have, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

void prepare(const Fd& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
}

Error unanswered(const Timing& timing) {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(timing.connect);
  return fail(Errc::timeout, "no response within " + std::to_string(waited.count()) +
                                 " ms; check whether a firewall blocks the connection");
}

/// Connects, and checks by token that the peer is the one that the leader chose.
Result<Fd> connect_to_peer(const PairTask& task, const Timing& timing) {
  const TimePoint deadline = Clock::now() + timing.connect;
  const Numeric address = numeric(task.address, task.port);
  if (!address) return fail(Errc::invalid_input, "the peer has no address");
  Fd socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket) return fail_errno("cannot open a socket");
  prepare(socket);
  if (::connect(socket.get(), address->ai_addr, address->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return fail_errno("cannot connect");
    if (!ready(socket, POLLOUT, deadline)) return unanswered(timing);
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) return fail_errno("cannot connect");
  }
  send_all(socket, task.hello.data(), task.hello.size(), deadline);
  const std::string answer = receive_exactly(socket, token_bytes, deadline);
  if (answer.empty()) return unanswered(timing);
  if (answer != task.answer) return fail(Errc::denied, "another program is listening on this port");
  return socket;
}

Result<Fd> accept_peer(const PairTask& task, const Listener& listener, Duration wait,
                       const Timing& timing) {
  const TimePoint deadline = Clock::now() + wait;
  for (int i = 0; i < strangers_max && ready(listener.socket, POLLIN, deadline); ++i) {
    Fd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) continue;
    const TimePoint proved_by = std::min(deadline, Clock::now() + timing.late);
    if (receive_exactly(socket, token_bytes, proved_by) != task.hello) continue;
    prepare(socket);
    send_all(socket, task.answer.data(), task.answer.size(), deadline);
    return socket;
  }
  return fail(Errc::timeout, "no peer has connected");
}

/// The median of some round trips of one byte, in µs; 0 if there was none.
double round_trip_us(const Fd& socket, TimePoint deadline) {
  std::vector<double> trips;
  const TimePoint enough = std::min(deadline, Clock::now() + round_trips_time);
  while (trips.size() < round_trips_max && (trips.empty() || Clock::now() < enough)) {
    const TimePoint begin = Clock::now();
    send_all(socket, &ping, 1, deadline);
    if (receive_exactly(socket, 1, deadline).empty()) break;
    trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  if (trips.empty()) return 0;
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2);
  std::nth_element(trips.begin(), middle, trips.end());
  return *middle;
}

void answer_pings(const Fd& socket, TimePoint deadline) {
  while (true) {
    const std::string byte = receive_exactly(socket, 1, deadline);
    if (byte.empty() || byte[0] == data_begins) return;
    send_all(socket, &ping, 1, deadline);
  }
}

void send_data(const Fd& socket, const Timing& timing) {
  const std::string block(block_bytes, '\0');
  const TimePoint deadline = Clock::now() + timing.send;
  while (Clock::now() < deadline)
    if (send_all(socket, block.data(), block.size(), deadline) < block.size()) break;
  ::shutdown(socket.get(), SHUT_WR);
}

/// The rate of the received bytes, without those of the connection's start; 0 if there are none.
double receive_data(const Fd& socket, const Timing& timing) {
  std::string block(block_bytes, '\0');
  std::size_t bytes = 0;
  std::size_t warm_bytes = 0;
  TimePoint first{};
  TimePoint warm{};
  TimePoint last{};
  TimePoint deadline = Clock::now() + timing.send + timing.late;
  while (ready(socket, POLLIN, deadline)) {
    const ssize_t count = ::recv(socket.get(), block.data(), block.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    last = Clock::now();
    bytes += static_cast<std::size_t>(count);
    if (first == TimePoint{}) first = last;
    if (last - first < timing.warm_up) {
      warm = last;
      warm_bytes = bytes;
    }
    if (last >= deadline) break;
  }
  const double seconds = std::chrono::duration<double>(last - warm).count();
  if (seconds <= 0 || bytes == warm_bytes) return 0;
  return 8.0 * static_cast<double>(bytes - warm_bytes) / seconds;
}

/// Waits until the peer has read everything and closed: closing earlier could destroy data in
/// transit.
void await_close(const Fd& socket, const Timing& timing) {
  std::string block(block_bytes, '\0');
  const TimePoint deadline = Clock::now() + timing.late;
  while (ready(socket, POLLIN, deadline))
    if (const ssize_t count = ::recv(socket.get(), block.data(), block.size(), 0);
        count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return;
}

std::string where(const PairTask& task, const Error& error) {
  return "port " + std::to_string(task.port) + " of " + task.address + ": " + error.text;
}

std::vector<PairFacts> measure_first(const PairTask& task, const Listener& listener,
                                     const Timing& timing) {
  PairFacts there{task.self, task.peer, 0, 0, ""};
  PairFacts back{task.peer, task.self, 0, 0, ""};
  const Result<Fd> socket = connect_to_peer(task, timing);
  if (socket) {
    const TimePoint deadline = Clock::now() + timing.connect;
    there.latency_us = round_trip_us(*socket, deadline);
    send_all(*socket, &data_begins, 1, deadline);
    send_data(*socket, timing);
    back.bits_per_second = receive_data(*socket, timing);
  } else {
    there.error = where(task, socket.error());
  }
  // The peer reports whether it arrived.
  static_cast<void>(accept_peer(task, listener, timing.connect * 2, timing));
  return {there, back};
}

std::vector<PairFacts> measure_second(const PairTask& task, const Listener& listener,
                                      const Timing& timing) {
  PairFacts there{task.peer, task.self, 0, 0, ""};
  PairFacts back{task.self, task.peer, 0, 0, ""};
  // A little longer than the connecting side, whose error message is more precise.
  const Result<Fd> socket = accept_peer(task, listener, timing.connect + timing.late, timing);
  if (socket) {
    answer_pings(*socket, Clock::now() + timing.connect);
    there.bits_per_second = receive_data(*socket, timing);
    send_data(*socket, timing);
    await_close(*socket, timing);
  }
  const Result<Fd> again = connect_to_peer(task, timing);
  if (!again) back.error = where(task, again.error());
  return {there, back};
}

}  // namespace

Json to_json(const PairTask& task) {
  return {{"connects", task.connects}, {"self", task.self}, {"peer", task.peer},
          {"address", task.address},   {"port", task.port}, {"hello", hex(task.hello)},
          {"answer", hex(task.answer)}};
}

Result<PairTask> pair_task_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  PairTask task;
  const auto misfit = [](const std::string& what) {
    return fail(Errc::protocol, "preflight: invalid measurement: no " + what);
  };
  if (!json.is_object()) return misfit("a task");
  task.self = member_text(json, "self");
  task.peer = member_text(json, "peer");
  task.address = member_text(json, "address");
  task.hello = from_hex(member_text(json, "hello")).value_or("");
  task.answer = from_hex(member_text(json, "answer")).value_or("");
  if (task.hello.size() != token_bytes || task.answer.size() != token_bytes) return misfit("token");
  const auto connects = json.find("connects");
  if (connects == json.end() || !connects->is_boolean()) return misfit("part");
  task.connects = connects->get<bool>();
  const auto port = json.find("port");
  if (port == json.end() || !port->is_number_unsigned() || port->get<std::uint64_t>() > 65535)
    return misfit("port");
  task.port = port->get<std::uint16_t>();
  return task;
}

Result<Listener> listen_at(const std::string& address) {
  const Numeric own = numeric(address, 0);
  if (!own) return fail(Errc::invalid_input, "there is no address to listen on");
  Listener listener;
  listener.socket =
      Fd(::socket(own->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!listener.socket || ::bind(listener.socket.get(), own->ai_addr, own->ai_addrlen) != 0 ||
      ::listen(listener.socket.get(), backlog) != 0)
    return fail_errno("cannot listen on " + address);
  sockaddr_storage at{};
  socklen_t size = sizeof(at);
  if (::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return fail_errno("cannot listen on " + address);
  listener.port = ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&at)->sin6_port
                                                 : reinterpret_cast<sockaddr_in*>(&at)->sin_port);
  return listener;
}

std::vector<PairFacts> measure(const PairTask& task, const Listener& listener,
                               const Timing& timing) {
  return task.connects ? measure_first(task, listener, timing)
                       : measure_second(task, listener, timing);
}

std::vector<std::vector<std::pair<std::size_t, std::size_t>>> ring_rounds(std::size_t hosts) {
  if (hosts < 2) return {};
  if (hosts == 2) return {{{0, 1}}};
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> rounds(hosts % 2 == 0 ? 2 : 3);
  for (std::size_t i = 0; i < hosts; ++i) {
    const bool is_left_over = hosts % 2 == 1 && i + 1 == hosts;
    rounds[is_left_over ? 2 : i % 2].emplace_back(i, (i + 1) % hosts);
  }
  return rounds;
}

std::vector<PairFacts> merged(const std::vector<PairFacts>& told) {
  std::vector<PairFacts> ways;
  for (const PairFacts& each : told) {
    const auto known = std::find_if(ways.begin(), ways.end(), [&each](const PairFacts& way) {
      return way.from == each.from && way.to == each.to;
    });
    PairFacts& way = known == ways.end() ? ways.emplace_back(each) : *known;
    const bool is_quicker = each.latency_us > 0 && each.latency_us < way.latency_us;
    if (is_quicker || way.latency_us == 0) way.latency_us = each.latency_us;
    way.bits_per_second = std::max(way.bits_per_second, each.bits_per_second);
    if (way.error.empty()) way.error = each.error;
  }
  return ways;
}

}  // namespace muster::preflight
