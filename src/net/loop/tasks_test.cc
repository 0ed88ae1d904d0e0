#include "net/loop/tasks.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "net/loop/testing.h"
#include "net/loop/worker.h"

using namespace muster;
using namespace std::chrono_literals;
using loop::Loop;
using loop::Task;
using loop::Tasks;

namespace {

/// Says when it is destroyed.
class Noted {
 public:
  Noted(std::vector<std::string>& notes, std::string name) : notes_(notes), name_(name) {}
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() { notes_.push_back(name_); }

 private:
  std::vector<std::string>& notes_;
  std::string name_;
};

Task<void> inner(Loop& loop, std::vector<std::string>& notes, std::string name) {
  const Noted noted(notes, name + ": inner");
  loop::Timer timer(loop);
  co_await timer.after(1h);
  notes.push_back(name + " went on");
}

Task<void> outer(Loop& loop, std::vector<std::string>& notes, std::string name) {
  const Noted noted(notes, name + ": outer");
  co_await inner(loop, notes, name);
  notes.push_back(name + " went on");
}

Task<int> at_once(int value) {
  co_return value;
}

/// What owns a group and is destroyed by one of its tasks.
struct Owner {
  explicit Owner(Loop& loop) : tasks(loop) {}
  std::string name = "owner";
  Tasks tasks;
};

}  // namespace

TEST_CASE("tasks: a waiting task whose owner is destroyed ends, with all that it awaits") {
  Loop loop;
  std::vector<std::string> notes;
  const auto test = [](Loop& on, std::vector<std::string>& out) -> Task<void> {
    auto tasks = std::make_unique<Tasks>(on);
    tasks->start(outer(on, out, "a"));
    tasks->start(outer(on, out, "b"));
    co_await on.turn();
    CHECK(out.empty());
    CHECK(tasks->size() == 2);
    tasks.reset();
    CHECK(out == std::vector<std::string>{"b: inner", "b: outer", "a: inner", "a: outer"});
  };
  run_task(loop, test(loop, notes));
  loop.restart();
  loop.run();  // Nothing is left in the loop to wait for.
  CHECK(notes.size() == 4);
}

TEST_CASE("tasks: one that never began is gone with its owner, too") {
  Loop loop;
  std::vector<std::string> notes;
  {
    Tasks tasks(loop);
    tasks.start(outer(loop, notes, "a"));
  }
  loop.run();
  CHECK(notes.empty());
}

TEST_CASE("tasks: events, watches and other tasks that are waited for outlive the one that waits") {
  Loop loop;
  Pipe pipe = *make_pipe();
  loop::Event event(loop);
  loop::Watch watch(loop, pipe.read.get());
  int told = 0;
  const auto on_event = [](loop::Event& of, int& count) -> Task<void> {
    co_await of.wait();
    ++count;
  };
  const auto on_watch = [](loop::Watch& of, int& count) -> Task<void> {
    const bool ready = co_await of.readable(Clock::now() + 1h);
    if (ready) ++count;
  };
  const auto test = [&](Loop& on) -> Task<void> {
    Tasks others(on);
    others.start(on_event(event, told));
    others.start(on_watch(watch, told));
    {
      Tasks tasks(on);
      tasks.start(on_event(event, told));
      tasks.start(on_watch(watch, told));
      co_await on.turn();
      event.notify();  // Waiters run in the next turn; two of them are gone by then.
      CHECK(write_all(pipe.write.get(), "x"));
    }
    co_await others.join();
  };
  run_task(loop, test(loop));
  CHECK(told == 2);
}

TEST_CASE("tasks: a group ended from inside one of its tasks: that one runs to its next wait") {
  Loop loop;
  std::vector<std::string> notes;
  auto owner = std::make_unique<Owner>(loop);
  const auto ender = [](Loop& on, std::unique_ptr<Owner>& of,
                        std::vector<std::string>& out) -> Task<void> {
    const Noted noted(out, "the one that ended it");
    of.reset();
    out.push_back("ran on");
    const int value = co_await at_once(7);  // No wait.
    out.push_back(std::to_string(value));
    co_await on.turn();
    out.push_back("went on");
  };
  owner->tasks.start(outer(loop, notes, "a"));
  owner->tasks.start(ender(loop, owner, notes));
  loop.run();
  CHECK(notes ==
        std::vector<std::string>{"a: inner", "a: outer", "ran on", "7", "the one that ended it"});
}

TEST_CASE("tasks: a task that is the last to own its group") {
  Loop loop;
  std::vector<std::string> notes;
  const auto keeper = [](Loop& on, std::shared_ptr<Owner> own,
                         std::vector<std::string>& out) -> Task<void> {
    co_await on.turn();
    out.push_back(own->name);
  };
  {
    const auto owner = std::make_shared<Owner>(loop);
    owner->tasks.start(keeper(loop, owner, notes));
  }
  loop.run();
  CHECK(notes == std::vector<std::string>{"owner"});
}

TEST_CASE("tasks: join waits for all, those started meanwhile too, and not beyond a deadline") {
  Loop loop;
  const auto again = [](Loop& on, Tasks& of, int left, int& ends, auto& self) -> Task<void> {
    co_await on.turn();
    if (left > 0) of.start(self(on, of, left - 1, ends, self));
    ++ends;
  };
  const auto test = [&](Loop& on) -> Task<void> {
    Tasks tasks(on);
    int ends = 0;
    co_await tasks.join();  // None yet.
    tasks.start(again(on, tasks, 3, ends, again));
    co_await tasks.join();
    CHECK(ends == 4);

    std::vector<std::string> notes;
    tasks.start(outer(on, notes, "a"));
    CHECK_FALSE(co_await tasks.join_until(Clock::now() + 1ms));
    CHECK(notes.empty());
    tasks.end();
    CHECK(notes.size() == 2);
    CHECK(co_await tasks.join_until(Clock::now()));
    tasks.start(again(on, tasks, 0, ends, again));
    CHECK(co_await tasks.join_until(Clock::now() + 1h));
    CHECK(ends == 5);
  };
  run_task(loop, test(loop));
}

TEST_CASE("tasks: a task that joins resumes when the group is destroyed") {
  Loop loop;
  std::vector<std::string> notes;
  const auto test = [](Loop& on, std::vector<std::string>& out) -> Task<void> {
    auto tasks = std::make_unique<Tasks>(on);
    tasks->start(outer(on, out, "a"));
    on.post([&tasks] { tasks.reset(); });
    CHECK(co_await tasks->join_until(Clock::now() + 1h));
    CHECK(out.size() == 2);
  };
  run_task(loop, test(loop, notes));
}

TEST_CASE("tasks: a million awaits of what is there already need no more stack than one") {
  Loop loop;
  const auto test = []() -> Task<void> {
    std::int64_t sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await at_once(i);
    CHECK(sum == 499'999'500'000);
  };
  run_task(loop, test());
}

// What a thread does is nothing that the reactor knows of: without the task it would run dry.
TEST_CASE("tasks: a loop runs until they have ended, also while they wait for another thread") {
  Loop loop;
  bool done = false;
  const auto test = [](Loop& on, bool& out) -> Task<void> {
    const Pipe pipe = *make_pipe();  // No writer: the thread waits its 100 ms.
    const auto work = [fd = pipe.read.get()] {
      pollfd waited{fd, POLLIN, 0};
      return ::poll(&waited, 1, 100) == 0;
    };
    out = co_await loop::in_thread(on, work);
  };
  Tasks tasks(loop);
  tasks.start(test(loop, done));
  loop.run();
  CHECK(done);
  CHECK(tasks.size() == 0);
}

TEST_CASE("tasks: a thread's argument and result may be move-only") {
  Loop loop;
  const auto test = [](Loop& on) -> Task<void> {
    auto work = [value = std::make_unique<int>(7)]() mutable -> Result<std::unique_ptr<int>> {
      return std::move(value);
    };
    const Result<std::unique_ptr<int>> came = co_await loop::in_thread(on, std::move(work));
    REQUIRE(came);
    CHECK(**came == 7);
    const auto fails = []() -> Result<int> { return fail(Errc::denied, "no"); };
    const Result<int> refused = co_await loop::in_thread(on, fails);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text == "no");
  };
  run_task(loop, test(loop));
}

TEST_CASE("tasks: work waits while the machine starts no thread, and does not end the process") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Root has no limit of processes; an ordinary user's own process is one already.
    const bool is_limited = ::geteuid() != 0 || (::setresgid(65534, 65534, 65534) == 0 &&
                                                 ::setresuid(65534, 65534, 65534) == 0);
    rlimit limit{};
    if (!is_limited || ::getrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(3);
    const rlim_t before = std::exchange(limit.rlim_cur, 1);
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(4);
    Loop loop;
    int done = 0;
    const auto test = [](Loop& on, int& out) -> Task<void> {
      const auto work = [] { return 7; };
      out = co_await loop::in_thread(on, work);
    };
    const auto free = [](Loop& on, const int& out, rlimit to) -> Task<void> {
      loop::Timer timer(on);
      co_await timer.after(std::chrono::milliseconds(50));
      if (out != 0) ::_exit(5);  // There was a thread.
      ::setrlimit(RLIMIT_NPROC, &to);
    };
    limit.rlim_cur = before;
    Tasks tasks(loop);
    tasks.start(test(loop, done));
    tasks.start(free(loop, done, limit));
    loop.run();
    ::_exit(done == 7 ? 0 : 6);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

// The thread writes into what the task holds.
TEST_CASE("tasks: ending a task that waits for a thread waits for the thread, too") {
  Loop loop;
  std::vector<std::string> notes;
  const Pipe pipe = *make_pipe();
  const auto test = [](Loop& on, std::vector<std::string>& out, int fd) -> Task<void> {
    const Noted task(out, "task");
    auto noted = std::make_unique<Noted>(out, "captured");
    auto work = [&out, fd, held = std::move(noted)] {
      char byte = 0;
      const bool came = ::read(fd, &byte, 1) == 1;
      out.emplace_back(came ? "thread" : "no byte");
      return std::string(100, 'x');
    };
    co_await loop::in_thread(on, std::move(work));
    out.emplace_back("went on");
  };
  Tasks tasks(loop);
  tasks.start(test(loop, notes, pipe.read.get()));
  loop.post([&] {
    REQUIRE(::write(pipe.write.get(), "x", 1) == 1);
    tasks.end();
  });
  loop.run();
  CHECK(notes == std::vector<std::string>{"thread", "captured", "task"});
}
