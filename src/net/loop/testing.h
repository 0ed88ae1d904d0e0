#pragma once

// For tests only.

#include <utility>

#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::loop {

/// Runs `task` to its end, together with everything else in the loop. Ends the process if that
/// takes longer than `guard`: a test hangs.
inline void run_task(Loop& loop, Task<void> task, Duration guard = std::chrono::seconds(30)) {
  Tasks tested(loop);
  tested.start(std::move(task));
  bool done = false;
  const auto body = [](Loop& on, const Tasks& tasks, TimePoint deadline, bool& out) -> Task<void> {
    out = co_await tasks.join_until(deadline);
    on.stop();
  };
  Tasks guards(loop);
  guards.start(body(loop, tested, Clock::now() + guard, done));
  loop.restart();
  loop.run();
  CHECK_THAT(done, "the test hangs");
}

}  // namespace muster::loop
