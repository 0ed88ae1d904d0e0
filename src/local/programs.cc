#include "local/programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/fd.h"
#include "loop/wait.h"
#include "supervise/reaper.h"
#include "supervise/spawn.h"

namespace muster::local {
namespace {

constexpr std::size_t output_bytes_max = 1u << 20;

/// A program that runs; shared by the tasks that read its output.
struct Running {
  explicit Running(loop::Loop& loop) : moved(loop) {}
  Programs::Done done;
  std::optional<job::Outcome> outcome;
  int readers = 2;
  bool given_up = false;
  loop::Event moved;
};

loop::Task<> read_all(loop::Loop& loop, Fd fd, std::shared_ptr<Running> running,
                      std::string Programs::Done::*into) {
  {
    loop::Watch watch(loop, fd.get());
    std::array<char, 65536> buffer;
    while (!running->given_up) {
      const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
      if (count == 0) break;
      if (count < 0 && errno != EAGAIN && errno != EINTR) break;
      if (count < 0 && errno == EAGAIN && !co_await watch.readable()) break;
      std::string& text = running->done.*into;
      if (count > 0 && text.size() < output_bytes_max)
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  --running->readers;
  running->moved.notify();
}

struct Started {
  pid_t pid;
  Fd out;
  Fd err;
};

Result<Started> start(const Command& command) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return fail_errno("/dev/null");
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  const supervise::Stdio stdio{null.get(), out.write.get(), err.write.get(), {}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {.own_group = true}));
  return Started{pid, std::move(out.read), std::move(err.read)};
}

}  // namespace

Programs::Programs(loop::Loop& loop)
    : loop_(loop), reaper_(std::make_unique<supervise::Reaper>(loop)) {}

Programs::~Programs() = default;

loop::Task<Result<Programs::Done>> Programs::run(Command command, Duration limit) {
  const std::string name = command.argv.at(0);
  Result<Started> started = start(command);
  if (!started) co_return started.error();
  const std::shared_ptr<Running> running = std::make_shared<Running>(loop_);
  const pid_t pid = started->pid;
  reaper_->watch(pid, [running](job::Outcome outcome) {
    running->outcome = std::move(outcome);
    running->moved.notify();
  });
  loop_.spawn(read_all(loop_, std::move(started->out), running, &Done::out));
  loop_.spawn(read_all(loop_, std::move(started->err), running, &Done::err));
  const TimePoint deadline = Clock::now() + limit;
  bool late = false;
  while (!late && (!running->outcome || running->readers > 0))
    late = !co_await running->moved.wait_until(deadline) && Clock::now() >= deadline;
  if (!late) {
    running->done.outcome = *running->outcome;
    co_return std::move(running->done);
  }
  running->given_up = true;
  reaper_->signal_group(pid, SIGKILL);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  co_return fail(Errc::timeout, name + ": not done within " + std::to_string(seconds) + " s");
}

}  // namespace muster::local
