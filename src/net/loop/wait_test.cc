#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/testing.h"
#include "net/loop/testing.h"

using namespace muster;
using namespace std::chrono_literals;
using loop::Loop;
using loop::Task;
using loop::Tasks;

TEST_CASE("wait: a timer distinguishes its deadline from cancellation") {
  Loop loop;
  loop::Timer timer(loop);
  const auto test = [](Loop& on, loop::Timer& of) -> Task<void> {
    CHECK(co_await of.after(1ms));
    CHECK(co_await of.until(Clock::now() - 1s));
    on.post([&of] { of.cancel(); });
    CHECK_FALSE(co_await of.after(1h));
  };
  run_task(loop, test(loop, timer));
}

TEST_CASE("wait: an event wakes all waiters, gives up at a deadline, and ends with its owner") {
  Loop loop;
  auto event = std::make_unique<loop::Event>(loop);
  int woken = 0;
  const auto waiter = [](loop::Event& on, int& count) -> Task<void> {
    co_await on.wait();
    ++count;
  };
  const auto test = [](Loop& on, std::unique_ptr<loop::Event>& of, int& count) -> Task<void> {
    CHECK_FALSE(co_await of->wait_until(Clock::now() + 1ms));
    on.post([&of] { of->notify(); });
    CHECK(co_await of->wait_until(Clock::now() + 1h));
    CHECK(count == 2);
    on.post([&of] { of.reset(); });
    CHECK(co_await of->wait_until(Clock::now() + 1h));
  };
  Tasks tasks(loop);
  tasks.start(waiter(*event, woken));
  tasks.start(waiter(*event, woken));
  run_task(loop, test(loop, event, woken));
}

TEST_CASE("wait: signals are events, and cancelling ends the wait") {
  Loop loop;
  loop::Signals signals(loop, {SIGUSR1, SIGUSR2});
  const auto test = [](Loop& on, loop::Signals& of) -> Task<void> {
    ::raise(SIGUSR2);
    Result<int> got = co_await of.next();
    REQUIRE(got);
    CHECK(*got == SIGUSR2);
    on.post([&of] { of.cancel(); });
    CHECK((co_await of.next()).error().code == Errc::closed);
  };
  run_task(loop, test(loop, signals));
}

TEST_CASE("wait: a watch sees a descriptor become readable and never closes it") {
  Loop loop;
  Pipe pipe = *make_pipe();
  {
    loop::Watch watch(loop, pipe.read.get());
    const auto test = [](Loop& on, loop::Watch& of, int write_end) -> Task<void> {
      on.post([write_end] { CHECK(write_all(write_end, "x")); });
      CHECK(co_await of.readable());
      on.post([&of] { of.cancel(); });
      CHECK_FALSE(co_await of.writable());
    };
    run_task(loop, test(loop, watch, pipe.write.get()));
  }
  CHECK(write_all(pipe.write.get(), "y"));
  std::string bytes(2, ' ');
  CHECK(::read(pipe.read.get(), bytes.data(), 2) == 2);
}

TEST_CASE("wait: an exception that leaves a task ends the process") {
  CHECK(aborts([] {
    Loop loop;
    const auto thrower = []() -> Task<void> {
      throw std::bad_alloc();
      co_return;
    };
    Tasks tasks(loop);
    tasks.start(thrower());
    loop.run();
  }));
}
