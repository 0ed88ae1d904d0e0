#include "net/sockets/datagram_relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

constexpr std::size_t questions_max = 128;
constexpr std::size_t bytes_max = 4096;
constexpr Duration server_max = std::chrono::seconds(3);
constexpr Duration question_max = std::chrono::seconds(10);

/// None if no datagram is waiting, or if it is too long.
struct Datagram {
  std::string bytes;
  TcpAddress from;
  bool broken = false;  ///< The socket reported an error: there is no listener.
};

Datagram receive(int socket) {
  std::array<char, bytes_max> buffer;
  Datagram taken;
  taken.from.size = sizeof(taken.from.storage);
  auto* const from = reinterpret_cast<sockaddr*>(&taken.from.storage);
  const ssize_t count = ::recvfrom(socket, buffer.data(), buffer.size(), MSG_TRUNC | MSG_DONTWAIT,
                                   from, &taken.from.size);
  taken.broken = count < 0 && errno != EAGAIN && errno != EINTR;
  if (count > 0 && static_cast<std::size_t>(count) <= buffer.size())
    taken.bytes.assign(buffer.data(), static_cast<std::size_t>(count));
  return taken;
}

class OpenDatagramRelay final : public DatagramRelay {
 public:
  OpenDatagramRelay(Loop& loop, Fd socket, Target target)
      : loop_(loop),
        socket_(std::move(socket)),
        target_(std::move(target)),
        incoming_(loop, socket_.get()),
        questions_(loop),
        taking_(loop) {
    taking_.start(take_all());
  }

 private:
  Task<void> take_all();
  Task<void> serve(Datagram question);
  Task<std::string> ask(std::string host, const Datagram& question, TimePoint deadline);

  Loop& loop_;
  Fd socket_;
  Target target_;
  Watch incoming_;
  Tasks questions_;
  Tasks taking_;
};

/// The response of one server; none if it does not arrive in time.
Task<std::string> OpenDatagramRelay::ask(std::string host, const Datagram& question,
                                         TimePoint deadline) {
  Result<std::vector<TcpAddress>> found = co_await resolve(loop_, host, target_.port, deadline);
  if (!found || found->empty()) co_return std::string();
  const TcpAddress& address = found->front();
  const Fd server(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.storage);
  if (!server || ::connect(server.get(), to, address.size) != 0) co_return std::string();
  const ssize_t sent =
      ::send(server.get(), question.bytes.data(), question.bytes.size(), MSG_NOSIGNAL);
  if (sent < 0) co_return std::string();
  Watch watch(loop_, server.get());
  while (true) {
    const bool came = co_await watch.readable(deadline);
    if (!came) co_return std::string();
    Datagram answer = receive(server.get());
    if (answer.broken || !answer.bytes.empty()) co_return std::move(answer.bytes);
  }
}

Task<void> OpenDatagramRelay::serve(Datagram question) {
  const TimePoint deadline = Clock::now() + question_max;
  for (std::size_t i = 0; i < target_.hosts.size() && Clock::now() < deadline; ++i) {
    const TimePoint until = std::min(deadline, Clock::now() + server_max);
    const std::string answer = co_await ask(target_.hosts[i], question, until);
    if (answer.empty()) continue;
    const auto* const to = reinterpret_cast<const sockaddr*>(&question.from.storage);
    static_cast<void>(::sendto(socket_.get(), answer.data(), answer.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT, to, question.from.size));
    co_return;
  }
}

Task<void> OpenDatagramRelay::take_all() {
  while (true) {
    const bool ready = co_await incoming_.readable();
    if (!ready) co_return;
    Datagram question = receive(socket_.get());
    if (question.bytes.empty() || questions_.size() >= questions_max) continue;
    questions_.start(serve(std::move(question)));
  }
}

}  // namespace

std::unique_ptr<DatagramRelay> DatagramRelay::open(Loop& loop, Fd socket, Target target) {
  return std::make_unique<OpenDatagramRelay>(loop, std::move(socket), std::move(target));
}

}  // namespace muster::loop
