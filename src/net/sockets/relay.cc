#include "net/sockets/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

constexpr std::size_t connections_max = 256;
constexpr std::size_t piece_bytes = 64 << 10;
constexpr Duration connect_max = std::chrono::seconds(10);

/// Both ends of a connection.
struct Crossing {
  Crossing(Loop& loop, Fd from, Fd to)
      : near(std::move(from)),
        far(std::move(to)),
        near_watch(loop, near.get()),
        far_watch(loop, far.get()) {}
  void end() {
    ended = true;
    near_watch.cancel();
    far_watch.cancel();
  }
  Fd near, far;
  Watch near_watch, far_watch;
  bool ended = false;
};

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

/// False if the connection broke.
Task<bool> write_on(const Crossing& crossing, int fd, Watch& watch, const char* bytes,
                    std::size_t count) {
  while (count > 0 && !crossing.ended) {
    const ssize_t sent = ::send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      count -= static_cast<std::size_t>(sent);
    } else if (would_block()) {
      const bool ready = co_await watch.writable();
      if (!ready) co_return false;
    } else {
      co_return false;
    }
  }
  co_return count == 0;
}

/// Copies one direction until the end of the stream.
Task<bool> copy(Crossing& crossing, bool outward) {
  const int from = outward ? crossing.near.get() : crossing.far.get();
  const int to = outward ? crossing.far.get() : crossing.near.get();
  Watch& from_watch = outward ? crossing.near_watch : crossing.far_watch;
  Watch& to_watch = outward ? crossing.far_watch : crossing.near_watch;
  std::vector<char> piece(piece_bytes);
  while (!crossing.ended) {
    const ssize_t got = ::recv(from, piece.data(), piece.size(), 0);
    if (got == 0) {
      ::shutdown(to, SHUT_WR);
      co_return true;
    }
    if (got < 0 && !would_block()) co_return false;
    if (got < 0) {
      const bool ready = co_await from_watch.readable();
      if (!ready) co_return false;
      continue;
    }
    const bool written =
        co_await write_on(crossing, to, to_watch, piece.data(), static_cast<std::size_t>(got));
    if (!written) co_return false;
  }
  co_return false;
}

Task<void> carry(Crossing& crossing, bool outward) {
  const bool whole = co_await copy(crossing, outward);
  if (!whole) crossing.end();
}

class OpenRelay final : public Relay {
 public:
  OpenRelay(Loop& loop, Fd listener, Target target)
      : loop_(loop),
        listener_(std::move(listener)),
        target_(std::move(target)),
        incoming_(loop, listener_.get()),
        fewer_(loop),
        connections_(loop),
        accepting_(loop) {
    accepting_.start(accept_all());
  }

 private:
  Task<void> accept_all();
  Task<void> serve(Fd near);

  Loop& loop_;
  Fd listener_;
  Target target_;
  Watch incoming_;
  Event fewer_;
  Tasks connections_;
  Tasks accepting_;
};

/// If the target cannot be reached, the connection is closed, so that the client notices it.
Task<void> OpenRelay::serve(Fd near) {
  const TimePoint deadline = Clock::now() + connect_max;
  Result<std::vector<TcpAddress>> addresses =
      co_await resolve(loop_, target_.host, target_.port, deadline);
  Result<Fd> far = fail(Errc::not_found, "");
  for (std::size_t i = 0; addresses && !far && i < addresses->size(); ++i)
    far = co_await tcp_connect(loop_, (*addresses)[i], deadline, target_.from);
  if (far) {
    Crossing crossing(loop_, std::move(near), *std::move(far));
    Tasks ways(loop_);
    ways.start(carry(crossing, true));
    ways.start(carry(crossing, false));
    co_await ways.join();
  }
  fewer_.notify();
}

Task<void> OpenRelay::accept_all() {
  while (true) {
    if (connections_.size() >= connections_max) {
      co_await fewer_.wait();
      continue;
    }
    TcpAddress from;
    Fd near = tcp_accept(listener_, from);
    if (near) {
      connections_.start(serve(std::move(near)));
      continue;
    }
    const bool ready = co_await incoming_.readable();
    if (!ready) co_return;
  }
}

}  // namespace

std::unique_ptr<Relay> Relay::open(Loop& loop, Fd listener, Target target) {
  return std::make_unique<OpenRelay>(loop, std::move(listener), std::move(target));
}

}  // namespace muster::loop
