#include "net/loop/tasks.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <optional>

#include "net/loop/wait.h"

namespace muster::loop {
namespace {

namespace asio = boost::asio;
using Work = asio::executor_work_guard<asio::io_context::executor_type>;

}  // namespace

struct Tasks::State {
  explicit State(Loop& on) : loop(on), emptied(on) {}

  static void forget(const std::weak_ptr<State>& weak, std::uint64_t id);
  static Task<bool> join_until(std::shared_ptr<State> state, TimePoint deadline);
  static Task<void> join(std::shared_ptr<State> state);

  Loop& loop;
  std::map<std::uint64_t, std::unique_ptr<TaskRun>> runs;  ///< In the order they were started.
  std::uint64_t next = 0;
  /// Keeps the loop running while there are tasks, even if they wait for another thread.
  std::optional<Work> work;
  Event emptied;
};

/// A task's variables may own this group, so they are destroyed last.
void Tasks::State::forget(const std::weak_ptr<State>& weak, std::uint64_t id) {
  const std::shared_ptr<State> state = weak.lock();
  const auto ended = state->runs.extract(id);
  if (!state->runs.empty()) return;
  state->work.reset();
  state->emptied.notify();
}

Task<bool> Tasks::State::join_until(std::shared_ptr<State> state, TimePoint deadline) {
  bool in_time = true;
  while (!state->runs.empty() && in_time) in_time = co_await state->emptied.wait_until(deadline);
  co_return state->runs.empty();
}

Task<void> Tasks::State::join(std::shared_ptr<State> state) {
  while (!state->runs.empty()) co_await state->emptied.wait();
}

Tasks::Tasks(Loop& loop) : state_(std::make_shared<State>(loop)) {}

Tasks::~Tasks() {
  end();
}

void Tasks::start(Task<void> task) {
  const std::uint64_t id = state_->next++;
  const std::weak_ptr<State> weak = state_;
  if (!state_->work) state_->work.emplace(state_->loop.context().get_executor());
  state_->runs[id] =
      std::make_unique<TaskRun>(std::move(task), [weak, id] { State::forget(weak, id); });
  state_->loop.post([weak, id] {
    const std::shared_ptr<State> state = weak.lock();
    if (!state) return;
    const auto found = state->runs.find(id);
    if (found != state->runs.end()) found->second->begin();
  });
}

void Tasks::end() {
  const std::shared_ptr<State> state = state_;  // A task's variables may own this group.
  while (!state->runs.empty())
    TaskRun::end(std::move(state->runs.extract(--state->runs.end()).mapped()));
  state->work.reset();
  state->emptied.notify();
}

std::size_t Tasks::size() const {
  return state_->runs.size();
}

Loop& Tasks::loop() const {
  return state_->loop;
}

Task<void> Tasks::join() const {
  return State::join(state_);
}

Task<bool> Tasks::join_until(TimePoint deadline) const {
  return State::join_until(state_, deadline);
}

}  // namespace muster::loop
