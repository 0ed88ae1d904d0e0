#include "base/process/data_limit.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "os/supervise/spawn.h"

using namespace muster;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

constexpr std::size_t limit = 64u << 20;

int end_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

/// Out of the reach of the test program's own handlers.
[[noreturn]] void run_to_the_end(const std::function<void()>& way) noexcept {
  way();
  ::_exit(0);
}

}  // namespace

TEST_CASE("data limit: beyond it the process says so and exits") {
  const std::function<void()> ways[] = {
      // Earlier tests may have left free memory to the allocator, which does not count as new data.
      [] {
        for (int i = 0; i < 64; ++i) static_cast<void>(::operator new(limit));
      },
      [] {
        const std::latch never(1);
        std::vector<std::thread> threads;
        while (true) threads.emplace_back([&never] { never.wait(); });
      },
      [] {  // As a C library's buffers, which call no new-handler.
        while (::mmap(nullptr, limit / 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0) != MAP_FAILED)
          continue;
        CHECK_THAT(false, "the library has memory");
      }};
  for (const std::function<void()>& way : ways) {
    Pipe said = *make_pipe();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(said.write.get(), STDERR_FILENO);
      limit_data(limit, "too much\n");
      run_to_the_end(way);
    }
    said.write.reset();
    const int status = end_of(pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == ENOMEM);
    std::string text(1000, '\0');
    text.resize(static_cast<std::size_t>(::read(said.read.get(), text.data(), text.size())));
    CHECK(text.ends_with("too much\n"));
  }
}

TEST_CASE("data limit: a process that aborts, or is aborted, with memory left does so") {
  constexpr std::int64_t ample = std::int64_t{1} << 40;  // Earlier tests may have used `limit` up.
  const std::function<void()> ways[] = {[] { std::abort(); }, [] { ::kill(::getpid(), SIGABRT); }};
  for (const std::function<void()>& way : ways) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      limit_data(ample, "too much\n");
      way();
      ::_exit(0);
    }
    const int status = end_of(pid);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
  }
}

TEST_CASE("data limit: programs that the process starts have their own") {
  rlimit before{};
  ::getrlimit(RLIMIT_DATA, &before);
  const std::string want =
      before.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(before.rlim_cur / 1024);
  const pid_t pid = ::fork();
  if (pid == 0) {
    limit_data(limit, "too much\n");
    const Command command{
        .argv = {"/bin/bash", "-c", "test $(ulimit -S -d) = " + want}, .env = {}, .cwd = "/"};
    const Result<pid_t> child = supervise::spawn(command, {}, {});
    ::_exit(child ? WEXITSTATUS(end_of(*child)) : 2);
  }
  CHECK(end_of(pid) == 0);
}
#endif
