#pragma once

// The one room that spells "asio". Others say loop::Task, loop::Timer and so on.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "base/result.h"
#include "base/time.h"

namespace muster::loop {

namespace asio = boost::asio;

/// A coroutine. It starts when awaited, or when given to Loop::spawn. Parameters by value, or by a
/// reference whose owner outlives it.
template <class T = void>
using Task = asio::awaitable<T>;

/// One event loop on one thread. All objects of this room belong to one loop and are used from its
/// thread only. Destroying an object ends what waits on it with Errc::closed.
class Loop {
 public:
  Loop() : context_(1) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Starts `task` on its own. An exception that leaves it (only bad_alloc may) ends the process.
  void spawn(Task<void> task);
  /// Calls `function` from the loop, after what runs now.
  void post(std::function<void()> function);
  /// Runs until stop() or until nothing waits any more.
  void run() { context_.run(); }
  void stop() { context_.stop(); }
  asio::io_context& context() { return context_; }

 private:
  asio::io_context context_;
};

}  // namespace muster::loop
