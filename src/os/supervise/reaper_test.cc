#include "os/supervise/reaper.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>

#include "base/fd.h"
#include "net/loop/testing.h"
#include "os/supervise/spawn.h"

using namespace muster;
using namespace muster::supervise;
using job::Outcome;

namespace {

constexpr Duration guard = std::chrono::seconds(60);

TimePoint in_time() {
  return Clock::now() + guard;
}

Command shell(const std::string& script) {
  return {{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, ""};
}

/// A child of this process that ends with `code` at once.
pid_t quick_child(int code) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) ::_exit(code);
  return pid;
}

/// Waits in the kernel, without reaping it.
void wait_until_zombie(pid_t pid) {
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
}

loop::Task<> all_reported(loop::Event& told, const std::size_t& count, std::size_t want) {
  while (count < want) co_await told.wait();
}

/// The next byte, 0 at the end: SIGCHLD interrupts reads.
ssize_t read_byte(const Fd& fd) {
  char byte = 0;
  ssize_t count = -1;
  do count = ::read(fd.get(), &byte, 1);
  while (count < 0 && errno == EINTR);
  return count;
}

// Sanitizers need some 50 ms for a fork.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int many = 100;
#else
constexpr int many = 1000;
#endif

}  // namespace

TEST_CASE("reaper: of many quick children, each one's own end is reported once") {
  loop::Loop loop;
  Reaper reaper(loop);
  loop::Event told(loop);
  std::map<pid_t, int> want;
  std::map<pid_t, std::vector<Outcome>> got;
  std::size_t count = 0;
  const auto body = [&]() -> loop::Task<> {
    for (int i = 0; i < many; ++i) {
      const pid_t pid = quick_child(i % 251);
      want[pid] = i % 251;
      reaper.watch(pid, [&, pid](const Outcome& outcome) {
        got[pid].push_back(outcome);
        ++count;
        told.notify();
      });
      // Let the loop turn now and then, so that ends arrive while others start.
      if (i % 37 == 0) {
        loop::Timer turn(loop);
        co_await turn.after(Duration());
      }
    }
    co_await all_reported(told, count, many);
  };
  loop::run_task(loop, body(), guard);
  REQUIRE(got.size() == want.size());
  for (const auto& [pid, code] : want) CHECK(got[pid] == std::vector{Outcome::exited(code)});
}

TEST_CASE("reaper: ends are reported exactly") {
  struct {
    const char* script;
    Outcome want;
  } const cases[] = {
      {"exit 0", Outcome::exited(0)},
      {"exit 255", Outcome::exited(255)},
      {"kill -KILL $$", Outcome::signaled(SIGKILL)},
      {"ulimit -c 0; kill -SEGV $$", Outcome::signaled(SIGSEGV)},
  };
  for (const auto& c : cases) {
    CAPTURE(c.script);
    loop::Loop loop;
    Reaper reaper(loop);
    loop::Event told(loop);
    std::vector<Outcome> got;
    std::size_t count = 0;
    const auto body = [&]() -> loop::Task<> {
      const Result<pid_t> pid = spawn(shell(c.script), {}, {});
      reaper.watch(pid.value_or(-1), [&](const Outcome& outcome) {
        got.push_back(outcome);
        ++count;
        told.notify();
      });
      co_await all_reported(told, count, 1);
    };
    loop::run_task(loop, body(), guard);
    CHECK(got == std::vector{c.want});
  }
}

TEST_CASE("reaper: a child that ended before it is watched is reported, from the loop") {
  loop::Loop loop;
  Reaper reaper(loop);
  loop::Event told(loop);
  std::optional<Outcome> got;
  std::size_t count = 0;
  const auto watch = [&](pid_t pid) {
    reaper.watch(pid, [&](const Outcome& outcome) {
      got = outcome;
      ++count;
      told.notify();
    });
    CHECK(count == 0);  // Not from inside watch().
  };
  SUBCASE("and is a zombie yet") {
    const pid_t pid = quick_child(7);
    wait_until_zombie(pid);
    watch(pid);
    loop::run_task(loop, all_reported(told, count, 1), guard);
    CHECK(*got == Outcome::exited(7));
  }
  SUBCASE("and has been reaped") {
    const pid_t pid = quick_child(8);
    const auto body = [&]() -> loop::Task<> {
      while (::kill(pid, 0) == 0) {
        loop::Timer turn(loop);
        co_await turn.after(std::chrono::milliseconds(1));
      }
      watch(pid);
      co_await all_reported(told, count, 1);
    };
    loop::run_task(loop, body(), guard);
    CHECK(*got == Outcome::exited(8));
  }
  SUBCASE("and is nobody's child at all") {
    watch(1);
    loop::run_task(loop, all_reported(told, count, 1), guard);
    CHECK(got->kind == Outcome::Kind::failed);
  }
}

TEST_CASE("reaper: a process that a callback starts is watched, too") {
  loop::Loop loop;
  Reaper reaper(loop);
  loop::Event told(loop);
  std::size_t count = 0;
  std::function<void(Outcome)> again = [&](const Outcome&) {
    if (++count < 20) reaper.watch(quick_child(0), again);
    told.notify();
  };
  reaper.watch(quick_child(0), again);
  loop::run_task(loop, all_reported(told, count, 20), guard);
  CHECK(count == 20);
}

TEST_CASE("reaper: it may go while a watch is pending and while it waits") {
  loop::Loop loop;
  const pid_t pid = quick_child(0);
  {
    Reaper reaper(loop);
    reaper.watch(pid, [](const Outcome&) { CHECK(false); });
  }
  loop::Timer turn(loop);
  const auto body = [&]() -> loop::Task<> { co_await turn.after(std::chrono::milliseconds(20)); };
  loop::run_task(loop, body(), guard);
  CHECK(::waitpid(pid, nullptr, 0) == pid);
}

TEST_CASE("reaper: signals go to children that are watched and not reaped, to no one else") {
  loop::Loop loop;
  Reaper reaper(loop);
  loop::Event told(loop);
  std::vector<Outcome> got;
  std::size_t count = 0;
  const auto on_end = [&](const Outcome& outcome) {
    got.push_back(outcome);
    ++count;
    told.notify();
  };
  const auto body = [&]() -> loop::Task<> {
    const pid_t one = *spawn(shell("exec sleep 1000"), {}, {});
    const pid_t group = *spawn(shell("sleep 1000 & wait"), {}, {.own_group = true});
    reaper.signal(one, SIGKILL);  // Not watched yet.
    reaper.signal_group(::getpgrp(), SIGKILL);
    reaper.watch(one, on_end);
    reaper.watch(group, on_end);
    reaper.signal(one, SIGTERM);
    co_await all_reported(told, count, 1);
    reaper.signal(one, SIGKILL);  // Reaped: nothing happens.
    reaper.signal_group(group, SIGHUP);
    co_await all_reported(told, count, 2);
    CHECK(co_await reaper.kill_descendants(in_time()));
  };
  loop::run_task(loop, body(), guard);
  CHECK(got == std::vector{Outcome::signaled(SIGTERM), Outcome::signaled(SIGHUP)});
}

TEST_CASE("reaper: no descendant survives, neither in a separate session nor doubly forked") {
  loop::Loop loop;
  Reaper reaper(loop);
  Pipe alive = *make_pipe();  // Ends when the last process that holds it has.
  Stdio stdio;
  stdio.out = alive.write.get();
  const auto body = [&]() -> loop::Task<> {
    const Result<pid_t> tree = spawn(
        shell(
            "trap '' TERM HUP; echo; setsid sh -c 'trap \"\" TERM; echo; sleep 1000 & sleep 999 &'"
            "; (setsid sleep 998 &) ; sleep 997 & sleep 996"),
        stdio, {});
    REQUIRE(tree);
    alive.write.reset();
    for (int i = 0; i < 2; ++i) CHECK(read_byte(alive.read) == 1);
    CHECK_FALSE(descendants(::getpid()).empty());
    CHECK(co_await reaper.kill_descendants(in_time()));
    CHECK(read_byte(alive.read) == 0);
    CHECK_FALSE(has_children());
    CHECK(descendants(::getpid()).empty());
  };
  loop::run_task(loop, body(), guard);
}

TEST_CASE("reaper: processes that fork on and on are all killed") {
  loop::Loop loop;
  Reaper reaper(loop);
  Pipe alive = *make_pipe();
  Stdio stdio;
  stdio.out = alive.write.get();
  const auto body = [&]() -> loop::Task<> {
    // Four chains: each link starts the next and ends, so that its pid is always a new one. Not
    // without end: on a busy machine those that are not reaped yet would take all pids there are.
    constexpr int links = 4000;
    for (int chain = 0; chain < 4; ++chain) {
      const pid_t pid = ::fork();
      REQUIRE(pid >= 0);
      if (pid == 0) {
        ::setsid();
        static_cast<void>(!::write(alive.write.get(), "x", 1));
        for (int link = 0; link < links; ++link)
          if (::fork() > 0) ::_exit(0);
        ::pause();
      }
    }
    alive.write.reset();
    for (int i = 0; i < 4; ++i) CHECK(read_byte(alive.read) == 1);
    CHECK(co_await reaper.kill_descendants(in_time()));
    CHECK(read_byte(alive.read) == 0);
    CHECK_FALSE(has_children());
  };
  loop::run_task(loop, body(), guard);
}

TEST_CASE(
    "reaper: a watched child's end is reported while all are killed, and a deadline is kept") {
  loop::Loop loop;
  Reaper reaper(loop);
  std::optional<Outcome> got;
  const auto body = [&]() -> loop::Task<> {
    const pid_t pid = *spawn(shell("exec sleep 1000"), {}, {});
    reaper.watch(pid, [&](const Outcome& outcome) { got = outcome; });
    CHECK_FALSE(co_await reaper.kill_descendants(Clock::now() - std::chrono::seconds(1)));
    CHECK(co_await reaper.kill_descendants(in_time()));
    CHECK(co_await reaper.kill_descendants(in_time()));  // With nothing left.
  };
  loop::run_task(loop, body(), guard);
  CHECK(got == Outcome::signaled(SIGKILL));
}
