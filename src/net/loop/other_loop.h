#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::loop {

/// Runs `work` as one of the tasks `there`, whose loop runs on another thread, and returns its
/// value on `here`, the caller's loop. Both loops must run until then; `there` must not be
/// destroyed while its loop runs. Only values cross: neither side keeps a reference into the other.
/// If the caller is destroyed meanwhile, the result is dropped.
template <class T>
Task<T> run_on(Loop& here, Tasks& there, std::function<Task<T>()> work) {
  struct Crossing {
    explicit Crossing(Loop& home) : done(home) {}
    std::optional<T> value;  ///< Written there, before `here` is notified.
    bool arrived = false;
    Event done;
  };
  const std::shared_ptr<Crossing> crossing = std::make_shared<Crossing>(here);
  there.loop().post([&here, &there, crossing, work = std::move(work)] {
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
    there.start(body(here, crossing, work));
  });
  while (!crossing->arrived) co_await crossing->done.wait();
  co_return *std::move(crossing->value);
}

}  // namespace muster::loop
