#include "os/supervise/stop.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "os/supervise/spawn.h"

namespace muster::supervise {
namespace {

constexpr int guard_ms = 60'000;

/// A shell in a process group of its own, and what it and its children print.
class Shell {
 public:
  explicit Shell(const std::string& script) {
    REQUIRE(::mkfifo((folder + "/go").c_str(), 0600) == 0);
    Pipe pipe = *make_pipe();
    const Command command{{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, folder};
    pid = *spawn(command, {0, 1, pipe.write.get(), {}}, {.own_group = true});
    output_ = std::move(pipe.read);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell() {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    std::filesystem::remove_all(folder);
  }
  void until_said(const std::string& line) {
    std::array<char, 256> buffer;
    while (text_.find(line + "\n") == std::string::npos) {
      pollfd ready{output_.get(), POLLIN, 0};
      REQUIRE(::poll(&ready, 1, guard_ms) == 1);
      const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
      REQUIRE(count > 0);
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  void go() const {
    const Fd fifo(::open((folder + "/go").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(write_all(fifo.get(), "\n"));
  }

  const std::string folder = *make_private_folder("/tmp", "muster-stop-");
  pid_t pid = 0;

 private:
  Fd output_;
  std::string text_;
};

/// False if something is still awaited after `looks` looks.
bool ends_within(Stop& stop, int looks) {
  for (int i = 0; i < looks; ++i) {
    if (!stop.look()) return true;
    ::poll(nullptr, 0, 20);
  }
  return false;
}

}  // namespace

TEST_CASE("stop: a command with & that is found before its shell has set it up is not waited for") {
  // Stands for the fork of `&` on a busy machine: it ignores SIGQUIT later.
  Shell shell(
      "(echo up >&2; read x < go; trap '' QUIT TERM; echo back >&2; while :; do sleep 1; done) |"
      "sh -c \"trap 'exit' TERM; echo runs >&2; while :; do sleep 0.01; done\"");
  shell.until_said("up");
  shell.until_said("runs");
  Stop stop(shell.pid);
  CHECK(stop.waiting() >= 3);
  shell.go();
  shell.until_said("back");
  CHECK(ends_within(stop, 500));
}

}  // namespace muster::supervise
