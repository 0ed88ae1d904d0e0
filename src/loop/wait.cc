#include "loop/wait.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace muster::loop {
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
using Error_code = boost::system::error_code;

}  // namespace

Task<bool> Timer::until(TimePoint deadline) {
  timer_.expires_at(deadline);
  const auto [error] = co_await timer_.async_wait(as_result);
  co_return !error;
}

/// One who waits: its own timer, known to the Event for as long as it lives.
struct Event::Waiter {
  Waiter(std::shared_ptr<State> of, TimePoint deadline)
      : state(std::move(of)), timer(state->context, deadline) {
    state->waiters.push_back(this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { std::erase(state->waiters, this); }

  std::shared_ptr<State> state;
  asio::steady_timer timer;
  bool notified = false;
};

void Event::notify() {
  for (Waiter* waiter : state_->waiters) {
    waiter->notified = true;
    waiter->timer.cancel();
  }
}

Task<bool> Event::wait_on(std::shared_ptr<State> state, TimePoint deadline) {
  Waiter waiter(std::move(state), deadline);
  co_await waiter.timer.async_wait(as_result);
  co_return waiter.notified;
}

Task<void> Event::wait() {
  co_await wait_on(state_, TimePoint::max());
}

Task<bool> Event::wait_until(TimePoint deadline) {
  return wait_on(state_, deadline);
}

Signals::Signals(Loop& loop, std::initializer_list<int> signals) : set_(loop.context()) {
  for (int signal : signals) {
    Error_code error;
    set_.add(signal, error);
    CHECK_THAT(!error, "a signal that cannot be caught");
  }
}

Task<Result<int>> Signals::next() {
  const auto [error, signal] = co_await set_.async_wait(as_result);
  if (error) co_return fail(Errc::closed, "no longer waiting for signals");
  co_return signal;
}

void Signals::cancel() {
  Error_code ignored;
  set_.cancel(ignored);
}

Watch::Watch(Loop& loop, int fd) : descriptor_(loop.context()) {
  Error_code ignored;  // Waits on a descriptor that could not be taken give false.
  descriptor_.assign(fd, ignored);
}

Watch::~Watch() {
  if (descriptor_.is_open()) descriptor_.release();
}

Task<bool> Watch::readable() {
  const auto [error] =
      co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
  co_return !error;
}

Task<bool> Watch::writable() {
  const auto [error] =
      co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_write, as_result);
  co_return !error;
}

void Watch::cancel() {
  Error_code ignored;
  descriptor_.cancel(ignored);
}

}  // namespace muster::loop
