#include "base/process/data_limit.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <string>

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

}  // namespace

TEST_CASE("data limit: beyond it the process says so and exits") {
  Pipe said = *make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(said.write.get(), STDERR_FILENO);
    limit_data(limit, "too much\n");
    // Earlier tests may have left free memory to the allocator, which does not count as new data.
    for (int i = 0; i < 64; ++i) static_cast<void>(::operator new(limit));
    ::_exit(0);
  }
  said.write.reset();
  const int status = end_of(pid);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(::read(said.read.get(), text.data(), text.size())));
  CHECK(text == "too much\n");
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
