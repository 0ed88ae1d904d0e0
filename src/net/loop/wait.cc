#include "net/loop/wait.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <vector>

namespace muster::loop {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

}  // namespace

struct Timer::State {
  explicit State(Loop& loop) : timer(loop.context()) {}
  asio::steady_timer timer;
};

Timer::Timer(Loop& loop) : state_(std::make_unique<State>(loop)) {}

Timer::~Timer() = default;

Task<bool> Timer::until(TimePoint deadline) {
  const Wait<bool> over;
  state_->timer.expires_at(deadline);
  state_->timer.async_wait([tell = over.teller()](ErrorCode error) { tell(!error); });
  co_return co_await over;
}

void Timer::cancel() {
  state_->timer.cancel();
}

struct Event::State {
  explicit State(Loop& on) : loop(on) {}
  Loop& loop;
  std::vector<Waiter*> waiters;
};

/// A waiter, registered with the Event until it is resumed or destroyed.
struct Event::Waiter {
  explicit Waiter(std::shared_ptr<State> on) : state(std::move(on)) {
    state->waiters.push_back(this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { std::erase(state->waiters, this); }

  std::shared_ptr<State> state;
  Wait<bool> over;
  bool notified = false;
};

Event::Event(Loop& loop) : state_(std::make_shared<State>(loop)) {}

void Event::notify() {
  for (Waiter* waiter : std::exchange(state_->waiters, {})) {
    waiter->notified = true;
    state_->loop.post([tell = waiter->over.teller()] { tell(true); });
  }
}

Task<void> Event::wait_on(std::shared_ptr<State> state) {
  const Waiter waiter(std::move(state));
  co_await waiter.over;
}

Task<bool> Event::wait_on_until(std::shared_ptr<State> state, TimePoint deadline) {
  asio::steady_timer timer(state->loop.context(), deadline);
  const Waiter waiter(std::move(state));
  timer.async_wait([tell = waiter.over.teller()](ErrorCode error) {
    if (!error) tell(false);
  });
  co_await waiter.over;
  co_return waiter.notified;
}

Task<void> Event::wait() {
  return wait_on(state_);
}

Task<bool> Event::wait_until(TimePoint deadline) {
  return wait_on_until(state_, deadline);
}

struct Signals::State {
  explicit State(Loop& loop) : set(loop.context()) {}
  asio::signal_set set;
};

Signals::Signals(Loop& loop, const std::vector<int>& signals)
    : state_(std::make_unique<State>(loop)) {
  for (int signal : signals) {
    ErrorCode error;
    state_->set.add(signal, error);
    CHECK_THAT(!error, "a signal that cannot be caught");
  }
}

Signals::~Signals() = default;

Task<Result<int>> Signals::next() {
  const Wait<std::pair<bool, int>> came;
  state_->set.async_wait([tell = came.teller()](ErrorCode error, int signal) {
    tell({!error, signal});
  });
  const auto [caught, number] = co_await came;
  if (!caught) co_return fail(Errc::closed, "no longer waiting for signals");
  co_return number;
}

void Signals::cancel() {
  ErrorCode ignored;
  state_->set.cancel(ignored);
}

struct Watch::State {
  using Way = asio::posix::stream_descriptor::wait_type;
  explicit State(Loop& loop) : descriptor(loop.context()) {}
  Task<bool> ready(Way way);
  Task<bool> ready_until(Way way, TimePoint deadline);
  asio::posix::stream_descriptor descriptor;
};

Task<bool> Watch::State::ready(Way way) {
  const Wait<bool> over;
  descriptor.async_wait(way, [tell = over.teller()](ErrorCode error) { tell(!error); });
  co_return co_await over;
}

/// If the deadline is reached first, the descriptor's wait remains, but does not resume a waiter.
Task<bool> Watch::State::ready_until(Way way, TimePoint deadline) {
  asio::steady_timer timer(descriptor.get_executor(), deadline);
  const Wait<bool> over;
  descriptor.async_wait(way, [tell = over.teller()](ErrorCode error) { tell(!error); });
  timer.async_wait([tell = over.teller()](ErrorCode error) {
    if (!error) tell(false);
  });
  co_return co_await over;
}

Watch::Watch(Loop& loop, int fd) : state_(std::make_unique<State>(loop)) {
  ErrorCode ignored;  // If the descriptor cannot be used, waits return false.
  state_->descriptor.assign(fd, ignored);
}

Watch::~Watch() {
  if (state_->descriptor.is_open()) state_->descriptor.release();
}

Task<bool> Watch::readable(TimePoint deadline) {
  const State::Way way = asio::posix::stream_descriptor::wait_read;
  return deadline == TimePoint::max() ? state_->ready(way) : state_->ready_until(way, deadline);
}

Task<bool> Watch::writable(TimePoint deadline) {
  const State::Way way = asio::posix::stream_descriptor::wait_write;
  return deadline == TimePoint::max() ? state_->ready(way) : state_->ready_until(way, deadline);
}

void Watch::cancel() {
  ErrorCode ignored;
  state_->descriptor.cancel(ignored);
}

}  // namespace muster::loop
