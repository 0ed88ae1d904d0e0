#include "machine/sampler/ras.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/port.h"
#include "base/text.h"
#include "job/wire/nccl_report.h"
#include "net/loop/wait.h"
#include "os/supervise/reaper.h"

namespace muster::sampler {
namespace {

constexpr std::uint16_t ras_port = 28028;  ///< Source: NCCL's manual, NCCL_RAS_ADDR.
constexpr std::size_t environment_bytes_max = 512u << 10;

std::string proc(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

bool is_network_shared(pid_t pid) {
  struct stat theirs {
  }, ours{};
  return ::stat(proc(pid, "ns/net").c_str(), &theirs) != 0 ||
         ::stat("/proc/self/ns/net", &ours) != 0 || theirs.st_ino == ours.st_ino;
}

Fd made_socket(int family) {
  return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// A socket belongs to the network in which it was made. A thread makes both, which ends there.
RasWay way_in_network_of(pid_t pid, std::uint16_t port) {
  const Fd network(::open(proc(pid, "ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  RasWay way{.port = port};
  std::thread visitor([&] {
    if (!network || ::setns(network.get(), CLONE_NEWNET) != 0) return;
    way.ipv4 = made_socket(AF_INET);
    way.ipv6 = made_socket(AF_INET6);
  });
  visitor.join();
  return way;
}

std::optional<std::uint16_t> port_set_below(pid_t init) {
  std::vector<pid_t> pids = supervise::descendants(init);
  pids.push_back(init);
  for (const pid_t pid : pids) {
    const Result<std::string> text = read_file(proc(pid, "environ"), environment_bytes_max);
    if (!text) continue;
    if (const std::optional<std::uint16_t> port = ras_port_in(*text)) return port;
  }
  return std::nullopt;
}

/// Whether something accepts on this host's own address, before the deadline.
loop::Task<bool> connect(loop::Watch& watch, int fd, const sockaddr* address, socklen_t size,
                         TimePoint deadline) {
  if (::connect(fd, address, size) == 0) co_return true;
  if (errno != EINPROGRESS) co_return false;
  const bool is_done = co_await watch.writable(deadline);
  if (!is_done) co_return false;
  int error = 0;
  socklen_t error_size = sizeof(error);
  const int asked = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
  co_return asked == 0 && error == 0;
}

/// Also what has arrived at the deadline.
loop::Task<std::string> answer_from(loop::Watch& watch, int fd, TimePoint deadline) {
  std::string answer;
  const std::string_view text = job::nccl_request;  // A new connection takes it at once.
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    co_return answer;
  std::array<char, 65536> buffer;
  while (answer.size() < job::nccl_answer_bytes_max) {
    const bool is_readable = co_await watch.readable(deadline);
    if (!is_readable) co_return answer;
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) co_return answer;
    answer.append(buffer.data(), std::min(static_cast<std::size_t>(count),
                                          job::nccl_answer_bytes_max - answer.size()));
  }
  co_return answer;
}

/// Empty: nothing accepts there, or it is silent.
template <class Address>
loop::Task<std::string> ask_at(loop::Loop& loop, Fd socket, Address address, TimePoint deadline) {
  if (!socket) co_return std::string();
  loop::Watch watch(loop, socket.get());
  const bool connected = co_await connect(
      watch, socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address), deadline);
  if (!connected) co_return std::string();
  co_return co_await answer_from(watch, socket.get(), deadline);
}

}  // namespace

std::optional<std::uint16_t> ras_port_in(std::string_view environment) {
  constexpr std::string_view name = "NCCL_RAS_ADDR=";
  for (const std::string& entry : split(environment, '\0')) {
    if (!entry.starts_with(name)) continue;
    for (const std::string_view host : {"localhost:", "127.0.0.1:", "[::1]:"})
      if (std::string_view(entry).substr(name.size()).starts_with(host))
        return parse_port(entry.substr(name.size() + host.size()));
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<RasWay> ras_way(pid_t init) {
  const std::optional<std::uint16_t> set = port_set_below(init);
  if (!set && is_network_shared(init)) return std::nullopt;
  RasWay way = way_in_network_of(init, set.value_or(ras_port));
  if (!way.ipv4 && !way.ipv6) return std::nullopt;
  return way;
}

loop::Task<std::string> ask_ras(loop::Loop& loop, RasWay way, Duration limit) {
  const TimePoint deadline = Clock::now() + limit;
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(way.port);
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer = co_await ask_at(loop, std::move(way.ipv4), ipv4, deadline);
  if (!answer.empty()) co_return answer;
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(way.port);
  ipv6.sin6_addr = in6addr_loopback;
  co_return co_await ask_at(loop, std::move(way.ipv6), ipv6, deadline);
}

}  // namespace muster::sampler
