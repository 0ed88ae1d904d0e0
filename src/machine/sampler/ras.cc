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

/// A socket belongs to the network in which it was made. A thread makes it, which ends there.
Fd socket_in_network_of(pid_t pid) {
  const Fd network(::open(proc(pid, "ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  Fd made;
  std::thread visitor([&] {
    if (network && ::setns(network.get(), CLONE_NEWNET) == 0)
      made = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  });
  visitor.join();
  return made;
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

loop::Task<bool> connect_and_ask(loop::Watch& watch, const RasWay& way, TimePoint deadline) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(way.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = way.socket.get();
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno != EINPROGRESS) co_return false;
    const bool is_done = co_await watch.writable(deadline);
    int error = 0;
    socklen_t size = sizeof(error);
    if (!is_done || ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      co_return false;
  }
  const std::string_view text = job::nccl_request;  // A new connection takes it at once.
  co_return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::optional<std::uint16_t> ras_port_in(std::string_view environment) {
  constexpr std::string_view name = "NCCL_RAS_ADDR=";
  for (const std::string& entry : split(environment, '\0')) {
    if (!entry.starts_with(name)) continue;
    for (const std::string_view host : {"localhost:", "127.0.0.1:"})
      if (std::string_view(entry).substr(name.size()).starts_with(host))
        return parse_port(entry.substr(name.size() + host.size()));
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<RasWay> ras_way(pid_t init) {
  const std::optional<std::uint16_t> set = port_set_below(init);
  if (!set && is_network_shared(init)) return std::nullopt;
  RasWay way{socket_in_network_of(init), set.value_or(ras_port)};
  if (!way.socket) return std::nullopt;
  return way;
}

loop::Task<std::string> ask_ras(loop::Loop& loop, RasWay way, Duration limit) {
  const TimePoint deadline = Clock::now() + limit;
  loop::Watch watch(loop, way.socket.get());
  std::string answer;
  const bool asked = co_await connect_and_ask(watch, way, deadline);
  if (!asked) co_return answer;
  std::array<char, 65536> buffer;
  while (answer.size() < job::nccl_answer_bytes_max) {
    const bool is_readable = co_await watch.readable(deadline);
    if (!is_readable) co_return answer;
    const ssize_t count = ::recv(way.socket.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) co_return answer;
    answer.append(buffer.data(), std::min(static_cast<std::size_t>(count),
                                          job::nccl_answer_bytes_max - answer.size()));
  }
  co_return answer;
}

}  // namespace muster::sampler
