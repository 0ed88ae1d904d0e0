// What GCC 12 does wrong with coroutines, one case for each name: tools/coroutine_traps_test.py
// compiles and runs this file by itself, docs/decisions/0001-boost-asio.md says what to write
// instead. In no room and in no CMake target: half of the cases do not compile, or crash.

#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace {

int made = 0;
int gone = 0;

/// Counts how often one is made and destroyed.
struct Probe {
  Probe() { ++made; }
  Probe(const Probe&) { ++made; }
  Probe(Probe&&) noexcept { ++made; }
  Probe& operator=(const Probe&) = default;
  ~Probe() { ++gone; }
  explicit operator bool() const { return true; }
};

struct Options {
  int number = 1;
  Probe probe = Probe();
};

/// A coroutine as small as one can be; starts when awaited, or by run().
template <class T>
struct [[nodiscard]] Task {
  struct promise_type {
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        const std::coroutine_handle<> waiting = ended.promise().waiting;
        return waiting ? waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_value(T given) { value = std::move(given); }
    void unhandled_exception() { std::terminate(); }

    T value{};
    std::coroutine_handle<> waiting;
  };

  explicit Task(std::coroutine_handle<promise_type> made_for) : handle(made_for) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() { handle.destroy(); }

  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> by) {
    handle.promise().waiting = by;
    return handle;
  }
  T await_resume() { return std::move(handle.promise().value); }

  std::coroutine_handle<promise_type> handle;
};

[[maybe_unused]] Task<int> number_of(Options options) {
  co_return options.number;
}
[[maybe_unused]] Task<int> number_in(const Options& options) {
  co_return options.number;
}
[[maybe_unused]] Task<Probe> probe() {
  co_return Probe();
}
template <class Work>
Task<int> result_of(Work work) {
  co_return work();
}
int count = 0;
[[maybe_unused]] Task<bool> counts_to(int most) {
  co_return ++count < most;
}

Task<int> trap() {
#if defined(TRAP_BRACES_BY_VALUE)
  co_return co_await number_of({.number = 2});
#elif defined(TRAP_BRACES_BY_REFERENCE)
  co_return co_await number_in({.number = 2});
#elif defined(TRAP_BRACES_EMPTY)
  co_return co_await number_of({});
#elif defined(RIGHT_NAMED)
  Options options{.number = 2};
  co_return co_await number_of(std::move(options));
#elif defined(TRAP_CAPTURES)
  co_return co_await result_of([probe = Probe()] { return 2; });
#elif defined(RIGHT_CAPTURES)
  const auto work = [probe = Probe()] { return 2; };
  co_return co_await result_of(work);
#elif defined(TRAP_CONDITION)
  if (!co_await probe()) co_return 1;
  co_return 2;
#elif defined(RIGHT_CONDITION)
  const Probe came = co_await probe();
  co_return came ? 2 : 1;
#elif defined(TRAP_WHILE)
  while (co_await counts_to(3)) continue;
  co_return 2;
#elif defined(RIGHT_WHILE)
  while (true) {
    const bool more = co_await counts_to(3);
    if (!more) co_return 2;
  }
#elif defined(TRAP_STATEMENT_EXPRESSION)
  const int number = __extension__({
    const Probe came = co_await probe();
    if (!came) co_return 1;
    2;
  });
  co_return number;
#elif defined(TRAP_RETURN)
  const int number = __extension__({
    if (made > 1000) return 1;
    2;
  });
  co_return number;
#elif defined(TRAP_LAMBDA)
  // The captures lie in the lambda, which is gone before the coroutine starts.
  Task<int> task = [number = std::string("2")]() -> Task<int> { co_return std::stoi(number); }();
  co_return co_await task;
#elif defined(RIGHT_LAMBDA)
  const auto body = [number = std::string("2")]() -> Task<int> { co_return std::stoi(number); };
  co_return co_await body();
#endif
}

}  // namespace

int main() {
  int value = 0;
  {
    const Task<int> task = trap();
    task.handle.resume();
    value = task.handle.promise().value;
  }
  std::printf("value %d, %d more destroyed than made\n", value, gone - made);
  return 0;
}
