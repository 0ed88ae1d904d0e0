#pragma once

#include <concepts>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace muster::loop {

template <class T = void>
class Task;

/// Inside loop/ only: a started task and everything it awaits: a stack of coroutines whose
/// innermost one runs or waits. Destroying it destroys all of them, innermost first, at the point
/// where they wait.
///
/// A coroutine that awaits another returns to resume(), which continues with the other one. A loop
/// that awaits ready values therefore does not grow the thread's stack.
class TaskRun {
 public:
  /// `ended` is called when the task has run to its end; it destroys the TaskRun.
  TaskRun(Task<void> task, std::function<void()> ended);
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;
  ~TaskRun();

  /// Runs from the start, or from `at`, to the next wait or the end.
  void begin();
  void resume(std::coroutine_handle<> at);
  /// Destroys the task: now or, if it is running, as soon as it waits.
  static void end(std::unique_ptr<TaskRun> run);

  // Called by the coroutines.
  void then(std::coroutine_handle<> next) { next_ = next; }

 private:
  std::unique_ptr<Task<void>> task_;
  std::function<void()> ended_;
  std::coroutine_handle<> next_;
  bool running_ = false;
  bool disowned_ = false;
};

namespace detail {

/// An exception left a task; only bad_alloc may. Ends the process.
[[noreturn]] void task_threw() noexcept;

struct PromiseBase {
  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      ended.promise().run->then(ended.promise().awaited_by);
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { task_threw(); }

  TaskRun* run = nullptr;
  std::coroutine_handle<> awaited_by;
};

template <class T>
struct Promise : PromiseBase {
  Task<T> get_return_object();
  template <class U = T>
  requires std::convertible_to<U, T>
  void return_value(U&& given) { value.emplace(std::forward<U>(given)); }
  T take() { return *std::move(value); }

  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

/// A coroutine. It starts when it is awaited or passed to Tasks (net/loop/tasks.h), and is
/// destroyed with its Task. Parameters by value, or by a reference whose owner outlives it.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// The awaiter for co_await; the awaiting coroutine keeps the Task.
  class Awaiter {
   public:
    explicit Awaiter(Handle inner) : inner_(inner) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> outer) const noexcept {
      inner_.promise().run = outer.promise().run;
      inner_.promise().awaited_by = outer;
      outer.promise().run->then(inner_);
    }
    T await_resume() const { return inner_.promise().take(); }

   private:
    Handle inner_;
  };
  Awaiter operator co_await() && {
    CHECK_THAT(handle_ && !handle_.promise().run, "a task is awaited once");
    return Awaiter(handle_);
  }

 private:
  friend class TaskRun;
  Handle handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

/// Inside loop/ only: makes a task wait for a callback. Call `teller()` once the value is ready,
/// from the loop (never from inside a task); later calls, and calls after the waiting task has
/// ended, do nothing. Await it once, in the coroutine that has it as a local variable.
template <class Value>
class Wait {
  struct State {
    TaskRun* run = nullptr;  ///< The waiting task; null before and after.
    std::coroutine_handle<> at;
    std::optional<Value> value;
  };

 public:
  class Teller {
   public:
    explicit Teller(std::shared_ptr<State> state) : state_(std::move(state)) {}
    void operator()(Value value) const {
      if (state_->value) return;
      state_->value = std::move(value);
      TaskRun* const run = std::exchange(state_->run, nullptr);
      if (run != nullptr) run->resume(state_->at);
    }

   private:
    std::shared_ptr<State> state_;
  };

  Wait() : state_(std::make_shared<State>()) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() { state_->run = nullptr; }
  Teller teller() const { return Teller(state_); }

  bool await_ready() const noexcept { return state_->value.has_value(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting) const noexcept {
    state_->run = waiting.promise().run;
    state_->at = waiting;
  }
  Value await_resume() const { return *std::move(state_->value); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace muster::loop
