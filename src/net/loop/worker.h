#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "net/loop/loop.h"

namespace muster::loop {

/// Inside loop/ only: in_thread() without a value.
Task<> run_in_thread(Loop& loop, std::function<void()> work);

/// Runs `work`, which may block, in a separate thread while the loop continues, and returns its
/// result. `work` captures by value and does not use the loop. Destroying the task waits for the
/// thread. In a coroutine, `work` must be a named variable: GCC 12 destroys the captures of a
/// lambda in a co_await expression twice (docs/decisions/0001-boost-asio.md).
template <class Work>
Task<std::invoke_result_t<Work&>> in_thread(Loop& loop, Work work) {
  std::optional<std::invoke_result_t<Work&>> value;
  std::function<void()> run = [&work, &value] { value.emplace(work()); };
  co_await run_in_thread(loop, std::move(run));
  co_return *std::move(value);
}

}  // namespace muster::loop
