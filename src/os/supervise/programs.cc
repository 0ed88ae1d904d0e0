#include "os/supervise/programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/fd.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"

namespace muster::supervise {
namespace {

constexpr std::size_t output_bytes_max = 1u << 20;

/// Kills a program that no task waits for any more.
class KillUnlessEnded {
 public:
  KillUnlessEnded(const Reaper& reaper, pid_t pid) : reaper_(reaper), pid_(pid) {}
  KillUnlessEnded(const KillUnlessEnded&) = delete;
  KillUnlessEnded& operator=(const KillUnlessEnded&) = delete;
  ~KillUnlessEnded() { reaper_.signal_group(pid_, SIGKILL); }

 private:
  const Reaper& reaper_;
  pid_t pid_;
};

/// A program's end; shared with the reaper, which may report it when no task waits any more.
struct End {
  explicit End(loop::Loop& loop) : told(loop) {}
  std::optional<job::Outcome> outcome;
  loop::Event told;
};

loop::Task<> read_all(loop::Loop& loop, Fd fd, std::string& text) {
  loop::Watch watch(loop, fd.get());
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count == 0) co_return;
    if (count < 0 && errno != EAGAIN && errno != EINTR) co_return;
    if (count < 0 && errno == EAGAIN && !co_await watch.readable()) co_return;
    if (count > 0 && text.size() < output_bytes_max)
      text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

struct Started {
  pid_t pid;
  Fd out;
  Fd err;
};

Result<Started> start(const Command& command, bool bound, const std::vector<int>& kept) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null");
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  Stdio stdio{null.get(), out.write.get(), err.write.get(), {}};
  for (const int fd : kept) stdio.extra.emplace_back(fd, fd);
  const pid_t pid =
      TRY(spawn(command, stdio, {.own_group = true, .death_signal = bound ? SIGKILL : 0}));
  return Started{pid, std::move(out.read), std::move(err.read)};
}

}  // namespace

Programs::Programs(loop::Loop& loop) : loop_(loop), reaper_(std::make_unique<Reaper>(loop)) {}

Programs::~Programs() = default;

loop::Task<Result<Programs::Done>> Programs::run(Command command, Duration limit, bool bound,
                                                 std::vector<int> kept) {
  const std::string name = command.argv.at(0);
  Result<Started> started = start(command, bound, kept);
  if (!started) co_return started.error();
  const std::shared_ptr<End> end = std::make_shared<End>(loop_);
  const pid_t pid = started->pid;
  reaper_->watch(pid, [end](job::Outcome outcome) {
    end->outcome = std::move(outcome);
    end->told.notify();
  });
  std::optional<KillUnlessEnded> held;
  if (bound) held.emplace(*reaper_, pid);
  Done done;
  loop::Tasks readers(loop_);
  readers.start(read_all(loop_, std::move(started->out), done.out));
  readers.start(read_all(loop_, std::move(started->err), done.err));
  const TimePoint deadline = Clock::now() + limit;
  bool in_time = true;
  while (!end->outcome && in_time) in_time = co_await end->told.wait_until(deadline);
  if (in_time) in_time = co_await readers.join_until(deadline);
  if (in_time) {
    done.outcome = *std::move(end->outcome);
    co_return done;
  }
  reaper_->signal_group(pid, SIGKILL);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  co_return fail(Errc::timeout, name + ": timed out after " + std::to_string(seconds) + " s");
}

}  // namespace muster::supervise
