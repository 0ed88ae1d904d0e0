#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <initializer_list>

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
/// a waiter checks its own condition before and after.
class Event {
 public:
  explicit Event(Loop& loop) : timer_(loop.context(), TimePoint::max()) {}
  void notify() { timer_.cancel(); }
  Task<void> wait();
  /// False when `deadline` came first.
  Task<bool> wait_until(TimePoint deadline);

 private:
  asio::steady_timer timer_;
};

/// Signals of the process as events. While one exists its signals have no other effect.
class Signals {
 public:
  Signals(Loop& loop, std::initializer_list<int> signals);
  /// The next signal; Errc::closed when destroyed or cancelled.
  Task<Result<int>> next();
  void cancel() { set_.cancel(); }

 private:
  asio::signal_set set_;
};

/// Waits on a descriptor that somebody else owns (pidfd, pipe, inotify); never closes it. The
/// descriptor becomes non-blocking.
class Watch {
 public:
  Watch(Loop& loop, int fd) : descriptor_(loop.context(), fd) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { descriptor_.release(); }
  /// False when cancelled.
  Task<bool> readable();
  Task<bool> writable();
  void cancel() { descriptor_.cancel(); }

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace muster::loop
