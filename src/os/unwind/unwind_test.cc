#include <doctest/doctest.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <set>

#include "base/fd.h"
#include "os/unwind/process.h"

// Functions in which a child waits. Not inlined, no tail calls: each has a frame. Without
// sanitizers: the code that they add to a function needs a frame pointer, which a thread that is
// not stopped does not show, and the thread sanitizer's calls from a loop are frames of their own.
#define NOT_SANITIZED no_sanitize("address", "undefined", "thread")
#if defined(__clang__)
#define FRAME __attribute__((noinline, NOT_SANITIZED))
#else
#define FRAME __attribute__((noinline, optimize("O2", "omit-frame-pointer"), NOT_SANITIZED))
#endif

namespace muster::unwind {
namespace {

std::atomic<int> sink{0};
volatile bool never = false;

FRAME int reads(int fd) {
  char byte = 0;
  // AddressSanitizer has a read() of its own, with a frame pointer; it has no syscall().
  return static_cast<int>(::syscall(SYS_read, fd, &byte, 1)) + ++sink;
}
FRAME int spins(int) {
  while (!never) {
  }
  return ++sink;
}
FRAME int adds_in_a_register(int) {
  double sum = 0;
  while (!never) {
    sum += 1;
    asm volatile("" : "+x"(sum));
  }
  return static_cast<int>(sum) + ++sink;
}
FRAME int counts_below_its_stack(int) {
  int count = 0;
  while (!never) asm volatile("incl %0" : "+m"(count));
  return count;  // Who calls nothing need not move the stack pointer for it.
}
FRAME int middle(int (*innermost)(int), int fd) {
  volatile char room[300] = {};  // Frames of several sizes.
  room[fd % 300] = 1;
  return innermost(fd) + room[0] + ++sink;
}
FRAME int outer(int (*innermost)(int), int fd) {
  return middle(innermost, fd) * 2 + ++sink;
}
int pipe_of_handler = -1;
void on_signal(int) {
  reads(pipe_of_handler);
}
FRAME int raises(int) {
  return ::raise(SIGUSR1) + ++sink;
}

/// A child that runs `work` and ends with this object.
class Child {
 public:
  explicit Child(const std::function<void(int)>& work) : pipe_(*make_pipe()), pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pipe_of_handler = pipe_.read.get();
    work(pipe_.read.get());
    ::_exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  ThreadId thread() const { return {pid_, pid_}; }

  /// The names of the calls of its main thread, once `wanted` is among them.
  std::vector<std::string> calls(std::string_view wanted, bool by_stopping) const {
    std::vector<std::string> names;
    for (int tries = 0; tries < 2000; ++tries) {
      names = calls_now(by_stopping);
      const auto has = [&](const std::string& each) {
        return each.find(wanted) != std::string::npos;
      };
      if (std::any_of(names.begin(), names.end(), has)) break;
      ::poll(nullptr, 0, 5);
    }
    return names;
  }
  std::vector<std::string> calls_now(bool by_stopping) const {
    std::optional<Snapshot> snapshot;
    if (by_stopping)
      snapshot = stop_and_look({thread()}, std::chrono::seconds(5)).at(0).snapshot;
    else
      snapshot = look_at_sleeper(thread());
    std::vector<std::string> names;
    if (!snapshot) return names;
    Files files;
    Process process(pid_, files);
    for (const NamedCall& each : process.names(process.walk(*snapshot)))
      names.push_back(each.function);
    return names;
  }

 private:
  Pipe pipe_;
  pid_t pid_;
};

/// The place of the first name that ends so; -1: there is none.
int place_of(const std::vector<std::string>& names, std::string_view end) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].ends_with(end)) return static_cast<int>(i);
  return -1;
}

void check_frames(const std::vector<std::string>& names, std::string_view innermost) {
  std::string all;
  for (const std::string& each : names) all += each + "\n";
  INFO(all);
  const int at = place_of(names, innermost);
  REQUIRE(at >= 0);
  CHECK(place_of(names, "::middle") == at + 1);
  CHECK(place_of(names, "::outer") == at + 2);
}

/// Returns once a child that spins has run for a moment more.
void let_run(pid_t pid) {
  clockid_t clock{};
  REQUIRE(::clock_getcpuclockid(pid, &clock) == 0);
  const auto used = [clock] {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const std::chrono::nanoseconds before = used();
  while (used() - before < std::chrono::microseconds(100)) ::sched_yield();
}

/// What it holds from a frame on, at four looks.
std::set<std::uint64_t> states_of(const Child& child, std::size_t from) {
  Files files;
  std::set<std::uint64_t> states;
  for (int i = 0; i < 4; ++i) {
    let_run(child.pid());
    const std::vector<Stopped> stopped = stop_and_look({child.thread()}, std::chrono::seconds(5));
    REQUIRE(stopped.at(0).snapshot);
    Process process(child.pid(), files);
    const Walk walk = process.walk(*stopped[0].snapshot);
    states.insert(process.state(walk, from, *stopped[0].snapshot));
  }
  return states;
}

TEST_CASE("unwind: a child that waits, without frame pointers, stopped for it and not") {
  const Child child([](int fd) { outer(reads, fd); });
  const std::vector<std::string> names = child.calls("::reads", true);
  check_frames(names, "::reads");
  CHECK(place_of(names, "syscall") == 0);
  CHECK(place_of(names, "main") > place_of(names, "::outer"));
  // The test itself has frame pointers, whose registers are visible only in a stopped thread.
  check_frames(child.calls("::reads", false), "::reads");
}

TEST_CASE("unwind: a spinning child is stopped, continues, and has not moved") {
  const Child child([](int fd) { outer(spins, fd); });
  check_frames(child.calls("::spins", true), "::spins");
  CHECK(!look_at_sleeper(child.thread()));
  CHECK(states_of(child, 1).size() == 1);
}

TEST_CASE("unwind: a child that computes is not where it was, wherever its numbers are") {
  for (int (*work)(int) : {adds_in_a_register, counts_below_its_stack}) {
    const Child child([work](int fd) { outer(work, fd); });
    child.calls("::outer", true);
    CHECK(states_of(child, 0).size() == 4);
  }
}

TEST_CASE("unwind: a signal's handler is in the function that the signal came to") {
  const Child child([](int fd) {
    std::signal(SIGUSR1, on_signal);
    outer(raises, fd);
  });
  const std::vector<std::string> names = child.calls("::reads", true);
  check_frames(names, "::raises");
  CHECK(place_of(names, "::on_signal") < place_of(names, "::raises"));
  CHECK(place_of(names, "::on_signal") > place_of(names, "::reads"));
}

TEST_CASE("unwind: one that was stopped stays so, and one that is gone is said to be") {
  const Child child([](int fd) {
    ::raise(SIGSTOP);
    outer(reads, fd);
  });
  int status = 0;
  REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
  REQUIRE(WIFSTOPPED(status));
  CHECK(place_of(child.calls("raise", true), "raise") >= 0);
  const std::string stat = *read_file("/proc/" + std::to_string(child.pid()) + "/stat");
  CHECK(stat.find(") T ") != std::string::npos);
  ::kill(child.pid(), SIGCONT);
  check_frames(child.calls("::reads", true), "::reads");
  const std::vector<Stopped> gone = stop_and_look({{999999, 999999}}, std::chrono::seconds(5));
  CHECK(!gone.at(0).snapshot);
  CHECK(gone.at(0).trouble == "ptrace: No such process");
}

// The thread sanitizer keeps signals from a loop that calls nothing.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("unwind: a signal that arrives with the stop is not lost") {
  Pipe told = *make_pipe();
  static int write_end = -1;
  write_end = told.write.get();
  const Child child([](int) {
    std::signal(SIGUSR1, [](int) {
      const char byte = 1;
      static_cast<void>(!::write(write_end, &byte, 1));
    });
    outer(spins, 0);
  });
  child.calls("::spins", true);
  told.write.reset();
  for (int i = 0; i < 50; ++i) {
    ::kill(child.pid(), SIGUSR1);
    static_cast<void>(stop_and_look({child.thread()}, std::chrono::seconds(5)));
    pollfd ready{told.read.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    char byte = 0;
    REQUIRE(::read(told.read.get(), &byte, 1) == 1);
  }
}
#endif

}  // namespace
}  // namespace muster::unwind
