#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "net/loop/loop.h"

namespace muster::loop {

/// Inside loop/ only: in_thread() without a value.
Task<> run_in_thread(Loop& loop, std::function<void()> work);

/// Runs `work`, which may block, in a thread of its own while the loop goes on, and gives back what
/// it returns. It gets what it needs by value and touches nothing of the loop. Destroying the task
/// waits for the thread. In a coroutine `work` is a variable: a lambda with captures that is made
/// in the co_await is destroyed twice (docs/decisions/0001-boost-asio.md).
template <class Work>
Task<std::invoke_result_t<Work&>> in_thread(Loop& loop, Work work) {
  std::optional<std::invoke_result_t<Work&>> value;
  std::function<void()> run = [&work, &value] { value.emplace(work()); };
  co_await run_in_thread(loop, std::move(run));
  co_return *std::move(value);
}

}  // namespace muster::loop
