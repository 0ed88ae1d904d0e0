#pragma once

#include <cstddef>
#include <memory>

#include "net/loop/loop.h"

namespace muster::loop {

/// The tasks of one object. They use the object's members, and are destroyed with it.
///
/// Make it the last member, so that it is destroyed first. A task that is ended while it waits does
/// not continue: its coroutines are destroyed where they wait, together with their variables. A
/// task that ends its own group (by destroying the object that it belongs to) runs until its next
/// wait; until then, it must not use the destroyed objects.
class Tasks {
 public:
  explicit Tasks(Loop& loop);
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  /// As end().
  ~Tasks();

  /// Starts `task` from the loop, after what runs now. An exception that leaves it (only bad_alloc
  /// may) ends the process.
  void start(Task<void> task);
  /// Ends all tasks, the latest first. New tasks can be started afterwards.
  void end();
  std::size_t size() const;
  /// From any thread.
  Loop& loop() const;

  /// Waits until no task is left, including tasks started meanwhile. Must not be called from one of
  /// these tasks. May outlive the group; the wait ends with the group.
  Task<void> join() const;
  /// False if some tasks are left at the deadline; they continue.
  Task<bool> join_until(TimePoint deadline) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::loop
