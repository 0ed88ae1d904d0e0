#pragma once

#include <memory>
#include <vector>

#include "net/loop/loop.h"

namespace muster::loop {

/// A deadline to wait for. One waiter at a time.
class Timer {
 public:
  explicit Timer(Loop& loop);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();
  /// True when `deadline` is reached; false if cancel() was called first.
  Task<bool> until(TimePoint deadline);
  Task<bool> after(Duration duration) { return until(Clock::now() + duration); }
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A condition that tasks wait for. Notifications are not counted: notify() wakes only tasks that
/// are waiting at that moment, so a waiter checks its own condition before and after. Any number of
/// waiters; destroying the Event wakes them too.
class Event {
 public:
  explicit Event(Loop& loop);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { notify(); }
  void notify();
  Task<void> wait();
  /// False if `deadline` was reached first.
  Task<bool> wait_until(TimePoint deadline);

 private:
  struct State;
  struct Waiter;
  static Task<void> wait_on(std::shared_ptr<State> state);
  static Task<bool> wait_on_until(std::shared_ptr<State> state, TimePoint deadline);

  std::shared_ptr<State> state_;
};

/// Receives signals of the process as events. While the object exists, its signals have no other
/// effect.
class Signals {
 public:
  Signals(Loop& loop, const std::vector<int>& signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();
  /// The next signal; Errc::closed when destroyed or cancelled.
  Task<Result<int>> next();
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Waits on a descriptor that another object owns (pidfd, pipe, inotify); never closes it. Makes
/// the descriptor non-blocking. Not for regular files: both waits return false for them at once.
/// The descriptor must outlive the Watch, and can have one Watch at a time.
class Watch {
 public:
  Watch(Loop& loop, int fd);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();
  /// False when cancelled, or when `deadline` comes first.
  Task<bool> readable(TimePoint deadline = TimePoint::max());
  Task<bool> writable(TimePoint deadline = TimePoint::max());
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::loop
