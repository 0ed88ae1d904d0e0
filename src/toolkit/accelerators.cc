#include "toolkit/accelerators.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "job/python_json.h"
#include "supervise/spawn.h"

namespace muster::toolkit {
namespace {

/// A driver that hangs must not keep the job from saying so in a roll call.
constexpr Duration answer_wait = std::chrono::seconds(60);
constexpr std::size_t answer_bytes_max = 1u << 20;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// All that comes until the end of the pipe; false if that does not come in time.
bool read_to_end(int fd, std::string& text) {
  const TimePoint deadline = Clock::now() + answer_wait;
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

/// What a program writes; none if there is no such program, or it fails.
std::optional<std::string> answer_of(const Command& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Result<pid_t> pid =
      supervise::spawn(command, {.in = null.get(), .out = in.get(), .err = null.get(), .extra = {}},
                       {.own_group = true});
  in = Fd();
  if (!pid) return std::nullopt;
  std::string text;
  const bool complete = read_to_end(out.get(), text);
  if (!complete) ::kill(-*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!complete || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace

int count_gpus(const Env& env) {
  const std::unique_ptr<DIR, CloseDir> dev(::opendir("/dev"));
  int count = 0;
  while (const dirent* entry = dev ? ::readdir(dev.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("nvidia") && parse_integer(name.substr(6))) ++count;
  }
  if (count > 0) return count;
  const std::optional<std::string> listed =
      answer_of({.argv = {"nvidia-smi", "--list-gpus"}, .env = env, .cwd = ""});
  if (!listed) return 0;
  const std::vector<std::string> lines = split(*listed, '\n');
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("GPU ");
  }));
}

int count_neurons(const Env& env) {
  const std::optional<std::string> listed =
      answer_of({.argv = {"neuron-ls", "-j"}, .env = env, .cwd = ""});
  const Result<job::PyValue> devices = job::python_loads(listed.value_or("[]"));
  if (!devices) return 0;
  std::int64_t count = 0;
  for (const job::PyValue& device : devices->items) {
    const job::PyValue* cores = device.find("nc_count");
    if (cores != nullptr && cores->kind == job::PyValue::Kind::integer)
      count += parse_integer(cores->text).value_or(0);
  }
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, 1 << 20));
}

}  // namespace muster::toolkit
