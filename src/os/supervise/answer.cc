#include "os/supervise/answer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "os/supervise/spawn.h"

namespace muster::env {
namespace {

/// A driver that hangs must not keep the job from saying so in a roll call.
constexpr Duration answer_wait = std::chrono::seconds(60);
constexpr std::size_t answer_bytes_max = 1u << 20;

/// All that comes until the end of the pipe; false if that does not come in time.
bool read_to_end(int fd, Duration limit, std::string& text) {
  const TimePoint deadline = Clock::now() + limit;
  while (text.size() <= answer_bytes_max) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int polled = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    char buffer[4096];
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return false;
}

/// What a program wrote, and its exit status as of wait(2).
struct Ran {
  std::string text{};
  int status = 0;
};
std::optional<Ran> run(const Command& command, Duration limit, bool errors_too) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Result<pid_t> pid = supervise::spawn(
      command,
      {.in = null.get(), .out = in.get(), .err = errors_too ? in.get() : null.get(), .extra = {}},
      {.own_group = true});
  in = Fd();
  if (!pid) return std::nullopt;
  Ran ran;
  const bool complete = read_to_end(out.get(), limit, ran.text);
  if (!complete) ::kill(-*pid, SIGKILL);
  while (::waitpid(*pid, &ran.status, 0) < 0 && errno == EINTR) continue;
  if (!complete) return std::nullopt;
  return ran;
}

}  // namespace

std::optional<std::string> answer_of(const Command& command) {
  std::optional<Ran> ran = run(command, answer_wait, false);
  if (!ran || !WIFEXITED(ran->status) || WEXITSTATUS(ran->status) != 0) return std::nullopt;
  return std::move(ran->text);
}

std::optional<std::string> output_of(const Command& command, Duration limit) {
  std::optional<Ran> ran = run(command, limit, true);
  if (!ran) return std::nullopt;
  return std::move(ran->text);
}

std::optional<Args> importable(const Args& modules, const std::string& python, const Env& env,
                               const std::string& folder, Imports imports) {
  constexpr const char* look =
      "import sys, importlib.util as util\n"
      "print(*(name for name in sys.argv[1:] if util.find_spec(name)))";
  Args words = {python};
  if (imports == Imports::isolated) words.emplace_back("-I");
  words.emplace_back("-c");
  words.emplace_back(look);
  words.insert(words.end(), modules.begin(), modules.end());
  const std::optional<std::string> found = answer_of({words, env, folder});
  if (!found) return std::nullopt;
  return split_words(*found);
}

}  // namespace muster::env
