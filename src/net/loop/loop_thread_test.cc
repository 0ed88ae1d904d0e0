#include "net/loop/loop_thread.h"

#include <doctest/doctest.h>

#include "net/loop/other_loop.h"
#include "net/loop/testing.h"

using namespace muster;
using loop::Loop;
using loop::Task;

TEST_CASE("loop_thread: work runs on the other loop and its value is returned") {
  Loop here;
  loop::LoopThread there;
  loop::Tasks tasks(there.loop());
  std::thread::id seen;
  int value = 0;
  const auto test = [](Loop& home, loop::Tasks& other, std::thread::id& id,
                       int& out) -> Task<void> {
    std::function<Task<int>()> work = [&id]() -> Task<int> {
      id = std::this_thread::get_id();
      co_return 7;
    };
    out = co_await loop::run_on(home, other, std::move(work));
  };
  run_task(here, test(here, tasks, seen, value));
  CHECK(value == 7);
  CHECK(seen == there.id());
  there.stop();  // Now the tasks may go.
}
