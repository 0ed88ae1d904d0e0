#include "toolkit/rank.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "job/message.h"
#include "launch/mpi_flavour.h"
#include "supervise/reaper.h"
#include "supervise/spawn.h"
#include "toolkit/messages.h"
#include "toolkit/socket_client.h"

namespace muster::toolkit {
namespace {

using job::Message;
using job::type_of;

constexpr int exit_cannot_run = 127;
constexpr int ack_wait_ms = 5000;

std::string value_of(const Env& env, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Env::const_iterator found = env.find(name);
    if (found != env.end()) return found->second;
  }
  return {};
}

std::int64_t number_of(const Env& env, std::initializer_list<const char*> names) {
  return parse_integer(value_of(env, names)).value_or(-1);
}

/// What `train` answers, laid over our own environment, in which only the launcher's words for this
/// rank stand over it. Payload: docs/protocols/host-socket.md.
Result<Command> command_from(const std::string& payload, const Env& own) {
  std::vector<std::string> parts = split(payload, '\0');
  if (parts.size() < 4) return fail(Errc::protocol, "train sent no command");
  const std::size_t args = static_cast<std::size_t>(parse_integer(parts[0]).value_or(-1));
  const std::size_t kept = static_cast<std::size_t>(parse_integer(parts[1]).value_or(-1));
  const std::size_t env_at = 3 + args + kept;
  if (args < 1 || args > parts.size() || kept > parts.size() || env_at >= parts.size())
    return fail(Errc::protocol, "train sent half a command");
  Command command;
  command.cwd = parts[2];
  command.argv.assign(parts.begin() + 3, parts.begin() + 3 + static_cast<std::ptrdiff_t>(args));
  for (const auto& [name, value] : own)
    if (!name.starts_with("MUSTER_")) command.env.emplace(name, value);
  const std::vector<std::string> kept_names(parts.begin() + 3 + static_cast<std::ptrdiff_t>(args),
                                            parts.begin() + static_cast<std::ptrdiff_t>(env_at));
  for (std::size_t at = env_at; at + 1 < parts.size(); ++at) {
    const std::size_t equals = parts[at].find('=');
    if (equals == std::string::npos) return fail(Errc::protocol, "train sent a bad variable");
    const std::string name = parts[at].substr(0, equals);
    bool keep = launch::told_to_ranks(name);
    for (const std::string& kept_name : kept_names) keep = keep || kept_name == name;
    if (!keep || !own.contains(name)) command.env[name] = parts[at].substr(equals + 1);
  }
  return command;
}

Result<Command> ask(SocketClient& train, const Env& env) {
  const std::int64_t rank = number_of(env, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
  const std::int64_t local = number_of(env, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"});
  if (rank < 0)
    return fail(Errc::invalid_input,
                "no OMPI_COMM_WORLD_RANK, PMIX_RANK or PMI_RANK: not started by mpirun");
  TRY(train.send(type_of(Message::rank_hello),
                 to_text({{"rank", rank}, {"local_rank", local}, {"pid", ::getpid()}})));
  const Frame answer = TRY(train.receive());
  if (answer.type == type_of(Message::rank_run)) return command_from(answer.payload, env);
  const Result<Json> json = parse_json(answer.payload);
  const bool told =
      json && json->is_object() && json->contains("why") && (*json)["why"].is_string();
  return fail(Errc::denied, told ? (*json)["why"].get<std::string>() : "train refused this rank");
}

/// What comes to this process, as a descriptor: SIGCHLD and the signals that are passed on, which
/// are all but those that tell of a fault of our own. Blocked in this process from here on.
Fd own_signals() {
  std::signal(SIGCHLD, SIG_DFL);  // A launcher that ignores it would hide the program's end.
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE})
    ::sigdelset(&set, fault);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<job::Outcome> reap(pid_t pid, int options) {
  siginfo_t info{};
  const int done = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | options);
  if (done != 0) return job::Outcome::failed(errno_text("waitid"));
  if (info.si_pid == 0) return std::nullopt;
  return supervise::outcome_of(info.si_code, info.si_status);
}

/// Follows the program until it ends; `train` and whoever signals us reach it meanwhile.
class Follower {
 public:
  Follower(SocketClient& train, pid_t pid, Fd signals)
      : train_(train), pid_(pid), signals_(std::move(signals)) {}

  /// None: `train` is gone, and the program was killed for it.
  std::optional<job::Outcome> until_end() {
    std::array<pollfd, 2> fds = {pollfd{signals_.get(), POLLIN, 0}, pollfd{train_.fd(), POLLIN, 0}};
    bool train_lives = serve_train(train_.received());  // May have come with the command.
    while (train_lives) {
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[0].revents != 0) pass_signals();
      if (fds[1].revents != 0) train_lives = serve_train(train_.receive_some());
      if (std::optional<job::Outcome> outcome = reap(pid_, WNOHANG)) return outcome;
    }
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // It may have moved to another group.
    static_cast<void>(reap(pid_, 0));
    return std::nullopt;
  }

 private:
  void pass_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info))
      if (info.ssi_signo != SIGCHLD) ::kill(-pid_, static_cast<int>(info.ssi_signo));
  }

  /// False when `train` is gone, or does not speak as it should.
  bool serve_train(Result<std::optional<Frame>> frame) {
    while (frame && *frame) {
      if ((*frame)->type == type_of(Message::signal))
        ::kill(-pid_, signal_from((*frame)->payload).signal);
      frame = train_.received();
    }
    return frame.has_value();
  }

  SocketClient& train_;
  pid_t pid_;
  Fd signals_;
};

/// The descriptor by which hydra's daemon speaks with this rank's program; none under Open MPI.
Fd take_launcher_channel(const Env& env) {
  const std::int64_t number = number_of(env, {"PMI_FD"});
  const bool open = number > STDERR_FILENO && number <= std::numeric_limits<int>::max() &&
                    ::fcntl(static_cast<int>(number), F_GETFD) >= 0;
  return Fd(open ? static_cast<int>(number) : -1);
}

/// `channel` becomes the program's alone: its end shows that the program ended.
Result<pid_t> start(SocketClient& train, const Command& command, Fd channel) {
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  supervise::SpawnOptions options;
  options.own_group = true;  // Whoever signals our group must not signal it twice.
  options.death_signal = SIGKILL;
  supervise::Stdio stdio{STDIN_FILENO, out.write.get(), err.write.get(), {}};
  if (channel) stdio.extra = {{channel.get(), channel.get()}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, options));
  TRY(train.send(type_of(Message::rank_started), to_text({{"pid", pid}}),
                 {out.read.get(), err.read.get()}));
  return pid;
}

void report_end(SocketClient& train, const job::Outcome& outcome) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Json end = {{"outcome", job::to_json(outcome)},
                    {"unix_ms", std::chrono::duration_cast<UnixMillis>(now).count()}};
  if (!train.send(type_of(Message::rank_end), to_text(end))) return;
  Result<std::optional<Frame>> frame = train.received();
  while (frame) {
    if (*frame && (*frame)->type == type_of(Message::rank_ack)) return;
    if (*frame) {
      frame = train.received();
      continue;
    }
    pollfd fd{train.fd(), POLLIN, 0};
    if (::poll(&fd, 1, ack_wait_ms) <= 0) return;
    frame = train.receive_some();
  }
}

[[noreturn]] void end_like(const job::Outcome& outcome) {
  if (outcome.kind == job::Outcome::Kind::signaled) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    // Only this one: others may be pending, and are not what the program ended by.
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, outcome.number);
    std::signal(outcome.number, SIG_DFL);
    ::raise(outcome.number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  }
  ::_exit(job::exit_code(outcome));
}

/// Hydra's daemon kills what it started as soon as some rank calls MPI_Abort: the code with which
/// that one is about to end would never be known. So what it started only waits for a process that
/// it does not know, and that goes on as the rank. Returns in that one.
/// Its end by the daemon's hand is no end of the rank: the host's `train` decides on that.
void go_on_in_another_process() {
  Fd signals = own_signals();
  const pid_t worker = ::fork();
  if (worker <= 0) {
    if (worker == 0) ::setpgid(0, 0);  // The daemon signals its groups.
    return;
  }
  pollfd fd{signals.get(), POLLIN, 0};
  ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(signals.get()) - 1, 0);
  ::close_range(static_cast<unsigned>(signals.get()) + 1, ~0U, 0);
  std::optional<job::Outcome> outcome;
  while (!outcome) {
    ::poll(&fd, 1, -1);
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof(info)) == sizeof(info))
      if (info.ssi_signo != SIGCHLD) ::kill(worker, static_cast<int>(info.ssi_signo));
    outcome = reap(worker, WNOHANG);
  }
  end_like(*outcome);
}

}  // namespace

int rank_main(const Args&, const Env& env) {
  const Log log(STDERR_FILENO, "sm rank", Log::Level::info);
  Fd channel = take_launcher_channel(env);  // Before descriptors of our own can have its number.
  if (env.contains("PMI_RANK") && !env.contains("OMPI_COMM_WORLD_RANK")) go_on_in_another_process();
  Result<SocketClient> train = SocketClient::connect(value_of(env, {"MUSTER_SOCKET"}));
  if (!train) {
    log.error(train.error().text);
    return exit_cannot_run;
  }
  Fd signals = own_signals();
  const Result<Command> command = ask(*train, env);
  if (!command) {
    log.error(command.error().text);
    report_end(*train, job::Outcome::failed(command.error().text));
    return exit_cannot_run;
  }
  const Result<pid_t> pid = start(*train, *command, std::move(channel));
  if (!pid) {  // `train` tells it, with rank and host.
    report_end(*train, job::Outcome::failed(pid.error().text));
    return exit_cannot_run;
  }
  const std::optional<job::Outcome> outcome =
      Follower(*train, *pid, std::move(signals)).until_end();
  if (!outcome) return exit_cannot_run;
  report_end(*train, *outcome);
  end_like(*outcome);
}

}  // namespace muster::toolkit
