#pragma once

// For tests only.

#include <utility>

#include "loop/wait.h"

namespace muster::loop {

/// Runs `task` to its end, and whatever else is in the loop meanwhile. Ends the process if that
/// takes longer than `guard`: a test hangs.
inline void run_task(Loop& loop, Task<void> task, Duration guard = std::chrono::seconds(30)) {
  bool done = false;
  Timer hang(loop);
  const auto body = [](Loop& on, Task<void> inner, bool& finished) -> Task<void> {
    co_await std::move(inner);
    finished = true;
    on.stop();
  };
  const auto watchdog = [](Loop& on, Timer& timer, Duration time) -> Task<void> {
    if (co_await timer.after(time)) on.stop();
  };
  loop.spawn(watchdog(loop, hang, guard));  // First: a task may be done without ever waiting.
  loop.spawn(body(loop, std::move(task), done));
  loop.context().restart();
  loop.run();
  CHECK_THAT(done, "the test hangs");
}

}  // namespace muster::loop
