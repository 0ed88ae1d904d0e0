#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <initializer_list>
#include <memory>
#include <vector>

#include "loop/loop.h"

namespace muster::loop {

/// A deadline to wait for. One waiter at a time.
class Timer {
 public:
  explicit Timer(Loop& loop) : timer_(loop.context()) {}
  /// True when `deadline` has come; false when cancel() came first.
  Task<bool> until(TimePoint deadline);
  Task<bool> after(Duration duration) { return until(Clock::now() + duration); }
  void cancel() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

/// Something that others wait for. Not counted: notify() wakes those that wait at that moment, so
/// a waiter checks its own condition before and after. Any number of waiters; destroying the
/// Event wakes them too.
class Event {
 public:
  explicit Event(Loop& loop) : state_(std::make_shared<State>(loop.context())) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { notify(); }
  void notify();
  Task<void> wait();
  /// False when `deadline` came first.
  Task<bool> wait_until(TimePoint deadline);

 private:
  struct Waiter;
  struct State {
    explicit State(asio::io_context& loop) : context(loop) {}
    asio::io_context& context;
    std::vector<Waiter*> waiters;
  };
  static Task<bool> wait_on(std::shared_ptr<State> state, TimePoint deadline);

  std::shared_ptr<State> state_;
};

/// Signals of the process as events. While one exists its signals have no other effect.
class Signals {
 public:
  Signals(Loop& loop, std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  /// The next signal; Errc::closed when destroyed or cancelled.
  Task<Result<int>> next();
  void cancel();

 private:
  asio::signal_set set_;
};

/// Waits on a descriptor that somebody else owns (pidfd, pipe, inotify); never closes it. The
/// descriptor becomes non-blocking. Not for regular files: there both waits give false at once.
/// The descriptor must outlive the Watch, and has no other Watch at the time.
class Watch {
 public:
  Watch(Loop& loop, int fd);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();
  /// False when cancelled.
  Task<bool> readable();
  Task<bool> writable();
  void cancel();

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace muster::loop
