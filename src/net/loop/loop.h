#pragma once

// Other rooms use loop::Task, loop::Timer and so on: only .cc files of this room include Asio.

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "net/loop/task.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace muster::loop {

/// One event loop on one thread. All objects of this room belong to one loop and are used from its
/// thread only. Destroying an object ends all waits on it with Errc::closed. Tasks can be started
/// only in a group (net/loop/tasks.h).
class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  /// Calls `function` from the loop, after what runs now. From any thread.
  void post(std::function<void()> function);
  /// Lets other ready work run first, for tasks that compute for long without waiting.
  Task<void> turn();
  /// Runs until stop(), or until nothing waits any more and all tasks have ended.
  void run();
  /// Runs what is ready now, such as a wait for a signal that has come. Call restart() first if a
  /// run() or poll() has returned.
  void poll();
  /// From any thread; run() returns at once until restart().
  void stop();
  void restart();
  /// Inside loop/ only.
  boost::asio::io_context& context() { return *context_; }

 private:
  std::unique_ptr<boost::asio::io_context> context_;
};

}  // namespace muster::loop
