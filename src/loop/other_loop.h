#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "loop/wait.h"

namespace muster::loop {

/// Runs `work` on the loop `there`, of another thread, and gives its value back on `here`, the
/// loop of the caller. Both loops run until then. Only values cross: neither side keeps a reference
/// into the other. A caller that is destroyed meanwhile is not told any more.
template <class T>
Task<T> run_on(Loop& here, Loop& there, std::function<Task<T>()> work) {
  struct Crossing {
    explicit Crossing(Loop& home) : done(home) {}
    std::optional<T> value;  ///< Written there, before `here` is told.
    bool arrived = false;
    Event done;
  };
  const std::shared_ptr<Crossing> crossing = std::make_shared<Crossing>(here);
  there.post([&here, &there, crossing, work = std::move(work)] {
    const auto body = [](Loop& home, std::shared_ptr<Crossing> over,
                         std::function<Task<T>()> run) -> Task<void> {
      Task<T> task = run();
      T value = co_await std::move(task);
      over->value.emplace(std::move(value));
      home.post([over = std::move(over)] {
        over->arrived = true;
        over->done.notify();
      });
    };
    there.spawn(body(here, crossing, work));
  });
  while (!crossing->arrived) co_await crossing->done.wait();
  co_return *std::move(crossing->value);
}

}  // namespace muster::loop
