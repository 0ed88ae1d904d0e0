#include "host/ranks/init.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/process/placement.h"
#include "base/text.h"
#include "base/time.h"
#include "command/line.h"
#include "job/host_settings.h"
#include "job/outcome/outcome.h"
#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"
#include "os/supervise/stop.h"

namespace muster::ranks {
namespace {

constexpr int exit_cannot_run = 127;
constexpr int exit_killed = 128 + SIGKILL;
constexpr Duration kill_wait = std::chrono::seconds(5);
constexpr int look_again_ms = 20;
constexpr std::size_t variables_bytes_max = 16u << 20;

struct InitArgs {
  int lifeline = -1;
  std::string variables;  ///< A file with more variables for the program.
  bool everyone = false;  ///< Signals are for all processes, and a stop waits for all of them.
  Cpus cpus;              ///< Empty: those of this process; likewise for memory.
  std::vector<int> memory_nodes;
  Args program;
};

std::variant<InitArgs, command::Stop> init_args(const Args& args) {
  const command::Page& page = command::page_of("init");
  command::Line line(page);
  InitArgs result;
  std::optional<std::string> lifeline;
  std::string cpus, memory_nodes;
  line.text("--lifeline", lifeline);
  line.text("--cpus", cpus);
  line.text("--memory-nodes", memory_nodes);
  line.text("--variables", result.variables);
  line.flag("--everyone", result.everyone);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  result.program = line.rest();
  for (const auto& [flag, text, list] :
       {std::tuple("--cpus", &cpus, &result.cpus),
        std::tuple("--memory-nodes", &memory_nodes, &result.memory_nodes)}) {
    const std::optional<Cpus> read = cpus_from(*text);
    if (!read)
      return command::wrong_line(page, flag + (" " + *text) + ": expected a list like 0-3,8");
    *list = *read;
  }
  if (!lifeline) return result;
  const std::optional<std::int64_t> fd = parse_integer(*lifeline);
  if (!fd || *fd < 3 || ::fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC) != 0)
    return command::wrong_line(page, "--lifeline " + *lifeline + ": not an open file descriptor");
  result.lifeline = static_cast<int>(*fd);
  return result;
}

/// All of the host's processes inherit this. A host without it is slower, and no less right.
void take_place(const InitArgs& given, const Log& log) {
  if (!given.cpus.empty())
    if (const Result<void> runs = run_on(given.cpus); !runs) log.warning(runs.error().text);
  if (!given.memory_nodes.empty())
    if (const Result<void> set = prefer_memory_of(given.memory_nodes); !set)
      log.warning(set.error().text);
}

/// The program's environment.
Result<Env> program_env(const InitArgs& given, const Env& env) {
  if (given.variables.empty()) return env;
  const std::string text = TRY(read_file(given.variables, variables_bytes_max));
  const Result<Env> own = job::variables_from(text);
  if (!own) return own.error().in(given.variables);
  return job::over_variables(env, *own);
}

/// The stream to the steward, if there is one, is passed to the program, and to no other process.
supervise::Stdio passed_on(const Env& env) {
  supervise::Stdio stdio;
  const Env::const_iterator found = env.find("MUSTER_STEWARD_FD");
  if (found == env.end()) return stdio;
  const std::optional<std::int64_t> fd = parse_integer(found->second);
  if (fd && *fd >= 3) stdio.extra = {{static_cast<int>(*fd), static_cast<int>(*fd)}};
  return stdio;
}

Fd all_signals() {
  std::signal(SIGCHLD, SIG_DFL);  // If it were ignored, the program's end would be hidden.
  sigset_t set;
  ::sigfillset(&set);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE})
    ::sigdelset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Reaps all processes that have ended; returns the exit status once the program is one of them.
std::optional<int> reap(pid_t program) {
  std::optional<int> status;
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
    if (info.si_pid == program)
      status = job::exit_code(supervise::outcome_of(info.si_code, info.si_status));
    info.si_pid = 0;
  }
  return status;
}

/// Waits until there are no descendants. A subreaper inherits all orphans, so this is the case when
/// it has no child. The deadline is for processes that cannot be killed (uninterruptible sleep).
void kill_all(const Fd& signals) {
  // The end of a pid namespace's first process kills all others; elsewhere they are killed here.
  if (::getpid() == 1) return;
  const TimePoint deadline = Clock::now() + kill_wait;
  siginfo_t info{};
  while (Clock::now() < deadline) {
    for (const pid_t pid : supervise::descendants(::getpid())) ::kill(pid, SIGKILL);
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) info.si_pid = 0;
    if (!supervise::has_children()) return;
    pollfd child_ends{signals.get(), POLLIN, 0};
    signalfd_siginfo taken{};
    ::poll(&child_ends, 1, look_again_ms);
    while (::read(signals.get(), &taken, sizeof(taken)) == sizeof(taken)) continue;
  }
}

/// The input from the lifeline.
enum class Line { nothing, word, end };

Line read_lifeline(int lifeline) {
  std::array<char, 64> ignored;
  const ssize_t count = ::read(lifeline, ignored.data(), ignored.size());
  if (count > 0) return Line::word;
  return count < 0 && (errno == EINTR || errno == EAGAIN) ? Line::nothing : Line::end;
}

int follow(pid_t program, const Fd& signals, const InitArgs& given) {
  const int lifeline = given.lifeline;
  std::optional<supervise::Stop> stop;
  std::optional<int> end;
  bool seen = lifeline < 0;  // See init.h about the file systems that disappear with init.
  std::array<pollfd, 2> fds = {pollfd{signals.get(), POLLIN, 0}, pollfd{lifeline, POLLIN, 0}};
  while (true) {
    if (::poll(fds.data(), fds.size(), stop ? look_again_ms : -1) < 0) continue;
    const Line line = fds[1].revents != 0 ? read_lifeline(lifeline) : Line::nothing;
    if (line == Line::end) {
      kill_all(signals);
      return exit_killed;
    }
    seen = seen || line == Line::word;
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof(info)) == sizeof(info)) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      if (given.everyone && number == SIGTERM && !stop) {
        stop.emplace(program, ::getpid());
        continue;
      }
      if (!end) ::kill(program, number);
      if (!given.everyone) continue;
      for (const pid_t pid : supervise::descendants(::getpid()))
        if (pid != program) ::kill(pid, number);
    }
    if (const std::optional<int> status = reap(program)) end = status;
    const bool waits = stop && stop->look();
    if (end && !waits && seen) {
      kill_all(signals);
      return *end;
    }
  }
}

}  // namespace

int init_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm init", Log::Level::info);
  const std::variant<InitArgs, command::Stop> line = init_args(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line)) return tell(*stop, log);
  const InitArgs& given = std::get<InitArgs>(line);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  take_place(given, log);
  const Fd signals = all_signals();
  const Result<Env> told = program_env(given, env);
  const Result<pid_t> pid =
      told ? supervise::spawn({given.program, *told, {}}, passed_on(env), supervise::SpawnOptions{})
           : told.error();
  if (!pid) {
    log.error(pid.error().text);
    return exit_cannot_run;
  }
  // Our own end of the steward's stream: it must end with the program.
  const supervise::Stdio passed = passed_on(env);
  for (const auto& [theirs, ours] : passed.extra) ::close(ours);
  return follow(*pid, signals, given);
}

}  // namespace muster::ranks
