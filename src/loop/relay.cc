#include "loop/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <vector>

#include "loop/tcp.h"
#include "loop/wait.h"

namespace muster::loop {
namespace {

constexpr std::size_t connections_max = 256;
constexpr std::size_t piece_bytes = 64 << 10;
constexpr Duration connect_max = std::chrono::seconds(10);

/// Both ends of a connection. Whatever copies holds it.
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
  int directions = 2;  ///< That have not come to their end.
};

struct State {
  State(Loop& on, Fd socket, Relay::Target to)
      : loop(on),
        listener(std::move(socket)),
        target(std::move(to)),
        incoming(on, listener.get()),
        fewer(on) {}
  Loop& loop;
  Fd listener;
  Relay::Target target;
  Watch incoming;
  Event fewer;
  std::set<std::shared_ptr<Crossing>> crossings;
  std::size_t connecting = 0;
  bool ended = false;
};

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

/// False if the connection broke.
Task<bool> write_on(const std::shared_ptr<Crossing>& crossing, int fd, Watch& watch,
                    const char* bytes, std::size_t count) {
  while (count > 0 && !crossing->ended) {
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

/// One direction, to the end of what comes.
Task<bool> copy(std::shared_ptr<Crossing> crossing, bool outward) {
  const int from = outward ? crossing->near.get() : crossing->far.get();
  const int to = outward ? crossing->far.get() : crossing->near.get();
  Watch& from_watch = outward ? crossing->near_watch : crossing->far_watch;
  Watch& to_watch = outward ? crossing->far_watch : crossing->near_watch;
  std::vector<char> piece(piece_bytes);
  while (!crossing->ended) {
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

Task<void> carry(std::shared_ptr<State> state, std::shared_ptr<Crossing> crossing, bool outward) {
  const bool whole = co_await copy(crossing, outward);
  if (!whole) crossing->end();
  if (--crossing->directions > 0) co_return;
  state->crossings.erase(crossing);
  state->fewer.notify();
}

Task<void> connect(std::shared_ptr<State> state, Fd near) {
  ++state->connecting;
  const TimePoint deadline = Clock::now() + connect_max;
  Result<std::vector<TcpAddress>> addresses =
      co_await resolve(state->loop, state->target.host, state->target.port, deadline);
  Result<Fd> far = fail(Errc::not_found, "");
  for (std::size_t i = 0; addresses && !far && i < addresses->size(); ++i)
    far = co_await tcp_connect(state->loop, (*addresses)[i], deadline, state->target.from);
  --state->connecting;
  state->fewer.notify();
  if (!far || state->ended) co_return;  // The near end is closed: whoever called sees it.
  const auto crossing = std::make_shared<Crossing>(state->loop, std::move(near), *std::move(far));
  state->crossings.insert(crossing);
  state->loop.spawn(carry(state, crossing, true));
  state->loop.spawn(carry(state, crossing, false));
}

Task<void> accept_all(std::shared_ptr<State> state) {
  while (!state->ended) {
    if (state->crossings.size() + state->connecting >= connections_max) {
      co_await state->fewer.wait();
      continue;
    }
    TcpAddress from;
    Fd near = tcp_accept(state->listener, from);
    if (near) {
      state->loop.spawn(connect(state, std::move(near)));
      continue;
    }
    const bool ready = co_await state->incoming.readable();
    if (!ready) co_return;
  }
}

class OpenRelay final : public Relay {
 public:
  explicit OpenRelay(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~OpenRelay() override {
    state_->ended = true;
    state_->incoming.cancel();
    state_->fewer.notify();
    for (const std::shared_ptr<Crossing>& crossing : state_->crossings) crossing->end();
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Relay> Relay::open(Loop& loop, Fd listener, Target target) {
  const auto state = std::make_shared<State>(loop, std::move(listener), std::move(target));
  loop.spawn(accept_all(state));
  return std::make_unique<OpenRelay>(state);
}

}  // namespace muster::loop
