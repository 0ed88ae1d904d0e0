#include "host/ranks/rank.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files/plain_file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process/placement.h"
#include "base/text.h"
#include "base/time.h"
#include "host/ranks/messages.h"
#include "host/ranks/pmi_relay.h"
#include "host/ranks/socket_client.h"
#include "job/launch/mpi_flavour.h"
#include "job/wire/message.h"
#include "os/devices/numa.h"
#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"
#include "os/supervise/stop.h"

namespace muster::ranks {
namespace {

using job::Message;
using job::type_of;

constexpr int exit_cannot_run = 127;
constexpr int ack_wait_ms = 5000;
constexpr int look_again_ms = static_cast<int>(
    std::chrono::duration_cast<std::chrono::milliseconds>(supervise::Stop::look_again).count());

/// True if the variables that torch's launcher sets for its ranks are present.
constexpr const char* restart_count = "TORCHELASTIC_RESTART_COUNT";
constexpr std::size_t error_file_bytes_max = 256u << 10;

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

/// The program of a line `[--local-rank-at N] -- ARGV…`, in the environment that the launcher made
/// for this rank. Empty without a line.
Result<Command> program_of_line(const Args& args, const Env& env) {
  Command command;
  if (args.empty()) return command;
  std::size_t at = 0;
  std::int64_t local_rank_at = 0;
  if (args.size() > 1 && args[0] == "--local-rank-at") {
    local_rank_at = parse_integer(args[1]).value_or(-1);
    at = 2;
  }
  if (at + 1 >= args.size() || args[at] != "--" || local_rank_at < 0 ||
      local_rank_at > static_cast<std::int64_t>(args.size() - at - 1))
    return fail(Errc::invalid_input, "expected [--local-rank-at N] -- PROGRAM");
  command.argv.assign(args.begin() + static_cast<std::ptrdiff_t>(at) + 1, args.end());
  if (local_rank_at > 0)
    command.argv.insert(command.argv.begin() + local_rank_at,
                        "--local_rank=" + value_of(env, {"LOCAL_RANK"}));
  for (const auto& [name, value] : env)
    if (!name.starts_with("MUSTER_") || name == "MUSTER_SOCKET") command.env.emplace(name, value);
  return command;
}

/// The response of `train`, applied to this process's environment. Only the launcher's variables
/// for this rank override it. Payload: docs/protocols/host-socket.md.
Result<Command> command_from(const std::string& payload, const Env& own) {
  std::vector<std::string> parts = split(payload, '\0');
  if (parts.size() < 4) return fail(Errc::protocol, "the train process did not send a command");
  const std::size_t args = static_cast<std::size_t>(parse_integer(parts[0]).value_or(-1));
  const std::size_t kept = static_cast<std::size_t>(parse_integer(parts[1]).value_or(-1));
  const std::size_t env_at = 3 + args + kept;
  if (args < 1 || args > parts.size() || kept > parts.size() || env_at >= parts.size())
    return fail(Errc::protocol, "the train process sent an incomplete command");
  Command command;
  command.cwd = parts[2];
  command.argv.assign(parts.begin() + 3, parts.begin() + 3 + static_cast<std::ptrdiff_t>(args));
  for (const auto& [name, value] : own)
    if (!name.starts_with("MUSTER_")) command.env.emplace(name, value);
  const std::vector<std::string> kept_names(parts.begin() + 3 + static_cast<std::ptrdiff_t>(args),
                                            parts.begin() + static_cast<std::ptrdiff_t>(env_at));
  for (std::size_t at = env_at; at + 1 < parts.size(); ++at) {
    const std::size_t equals = parts[at].find('=');
    if (equals == std::string::npos)
      return fail(Errc::protocol, "the train process sent an invalid variable");
    const std::string name = parts[at].substr(0, equals);
    bool keep = launch::told_to_ranks(name);
    for (const std::string& kept_name : kept_names) keep = keep || kept_name == name;
    if (!keep || !own.contains(name)) command.env[name] = parts[at].substr(equals + 1);
  }
  return command;
}

/// Next to this rank's GPU, unless something else has given it a place of its own: it then differs
/// from the processors of `train`, which follow the rank's in `text`.
void take_place(const std::string& text, const Log& log) {
  const std::vector<devices::NumaNode> told = devices::numa_from(text);
  if (told.size() != 2 || told[0].cpus.empty() || own_cpus() != told[1].cpus) return;
  if (const Result<void> runs = run_on(told[0].cpus); !runs) log.warning(runs.error().text);
  if (has_memory_policy()) return;
  if (const Result<void> set = prefer_memory_of({told[0].number}); !set)
    log.warning(set.error().text);
}

/// The identity of this rank, from its launcher's variables.
Result<Json> hello_of(const Env& env, bool brings_program) {
  Json hello = {{"pid", ::getpid()}};
  std::int64_t rank = -1;
  if (brings_program) {
    rank = number_of(env, {"RANK"});
    if (rank < 0)
      return fail(
          Errc::invalid_input,
          "RANK is not set: this process was not started by torchrun or DeepSpeed's launcher");
    hello["local_rank"] = number_of(env, {"LOCAL_RANK"});
    hello["local_size"] = number_of(env, {"LOCAL_WORLD_SIZE"});
    hello["brings_program"] = 1;
    hello["restart"] = number_of(env, {restart_count});
    hello["restarts"] = number_of(env, {"TORCHELASTIC_MAX_RESTARTS"});
  } else {
    rank = number_of(env, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
    if (rank < 0)
      return fail(Errc::invalid_input,
                  "OMPI_COMM_WORLD_RANK, PMIX_RANK and PMI_RANK are not set: this process was not "
                  "started by mpirun");
    hello["local_rank"] = number_of(env, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"});
    hello["local_size"] = number_of(env, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  }
  hello["rank"] = rank;
  return hello;
}

/// `own`: the program of this command line; if it is empty, the program in the response of `train`.
Result<Command> ask(SocketClient& train, Command own, const Env& env, const Log& log) {
  const bool brings_program = !own.argv.empty();
  const Json hello = TRY(hello_of(env, brings_program));
  TRY(train.send(type_of(Message::rank_hello), to_text(hello)));
  const Frame answer = TRY(train.receive());
  if (answer.type == type_of(Message::rank_run)) {
    const std::string& payload = answer.payload;
    const std::size_t end = std::min(payload.find('\0'), payload.size());
    take_place(payload.substr(0, end), log);
    if (brings_program) return own;
    return command_from(payload.substr(std::min(end + 1, payload.size())), env);
  }
  const Result<Json> json = parse_json(answer.payload);
  const bool told =
      json && json->is_object() && json->contains("why") && (*json)["why"].is_string();
  return fail(Errc::denied, told ? (*json)["why"].get<std::string>() : "train refused this rank");
}

/// A descriptor for this process's signals: SIGCHLD and the signals that are passed on, which are
/// all except those that report a fault of this process. They are blocked from here on.
Fd own_signals() {
  std::signal(SIGCHLD, SIG_DFL);  // A launcher that ignores it would hide the program's end.
  std::signal(SIGPIPE, SIG_IGN);  // Either hydra's daemon or the program may exit first.
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE})
    ::sigdelset(&set, fault);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Follows the program until it ends; meanwhile, it handles messages of `train` and signals.
class Follower {
 public:
  Follower(SocketClient& train, pid_t pid, Fd signals, PmiRelay relay)
      : train_(train), pid_(pid), signals_(std::move(signals)), relay_(std::move(relay)) {}

  /// None: `train` has exited, and the program was killed because of it. After a stop, the end is
  /// that of the program and its foreground processes.
  std::optional<job::Outcome> until_end() {
    std::array<pollfd, 4> fds = {pollfd{signals_.get(), POLLIN, 0}, pollfd{train_.fd(), POLLIN, 0},
                                 pollfd{relay_.from_program(), POLLIN, 0},
                                 pollfd{relay_.from_daemon(), POLLIN, 0}};
    bool train_lives = serve_train(train_.received());  // May have arrived with the command.
    while (train_lives) {
      const int ready = ::poll(fds.data(), fds.size(), stop_ ? look_again_ms : -1);
      if (ready < 0) continue;
      if (fds[0].revents != 0) pass_signals();
      if (fds[1].revents != 0) train_lives = serve_train(train_.receive_some());
      if (fds[2].revents != 0) relay_.serve_program();
      if (fds[3].revents != 0 && relay_.from_daemon() >= 0) relay_.serve_daemon();
      if (const std::optional<int> code = relay_.abort_code()) return aborted(*code);
      if (!outcome_) outcome_ = reap(WNOHANG);
      const bool waits = stop_ && stop_->look();
      if (outcome_ && !waits) {
        relay_.serve_rest();  // Data that arrived since poll().
        if (const std::optional<int> code = relay_.abort_code()) return job::Outcome::exited(*code);
        return outcome_;
      }
      fds[2].fd = relay_.from_program();
      fds[3].fd = relay_.from_daemon();
    }
    kill_program();
    return std::nullopt;
  }

 private:
  void kill_program() {
    if (stop_) stop_->kill();
    if (outcome_) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // The program may have moved to another group.
    static_cast<void>(reap(0));
  }

  /// After MPI_Abort the program only waits to be killed, or is about to exit.
  job::Outcome aborted(int code) {
    kill_program();
    return job::Outcome::exited(code);
  }

  void pass_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info))
      if (info.ssi_signo != SIGCHLD) pass(static_cast<int>(info.ssi_signo));
  }

  /// The launcher's signal is not passed on if a stop has already sent it to the program.
  void pass(int signal) const {
    if (!outcome_ && !(stop_ && signal == SIGTERM)) ::kill(-pid_, signal);
  }

  void serve_signal(const SignalRequest& request) {
    const bool is_stop = request.signal == SIGTERM && request.grace > Duration();
    if (is_stop && !stop_ && !outcome_) {
      relay_.keep_daemon();
      stop_.emplace(pid_);
    }
    if (is_stop) return;
    if (request.signal == SIGKILL && stop_) stop_->kill();
    if (!outcome_) ::kill(-pid_, request.signal);
  }

  /// False if `train` has exited or violates the protocol.
  bool serve_train(Result<std::optional<Frame>> frame) {
    while (frame && *frame) {
      if ((*frame)->type == type_of(Message::signal)) serve_signal(signal_from((*frame)->payload));
      frame = train_.received();
    }
    return frame.has_value();
  }

  std::optional<job::Outcome> reap(int options) const {
    siginfo_t info{};
    const int done = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | options);
    if (done != 0) return job::Outcome::failed(errno_text("cannot wait for the program"));
    if (info.si_pid == 0) return std::nullopt;
    return supervise::outcome_of(info.si_code, info.si_status);
  }

  SocketClient& train_;
  pid_t pid_;
  Fd signals_;
  PmiRelay relay_;
  std::optional<supervise::Stop> stop_;  ///< Set when the job is stopped.
  std::optional<job::Outcome> outcome_;  ///< Set when the program has ended.
};

/// The descriptor that connects hydra's daemon with this rank's program; none under Open MPI.
Fd take_launcher_channel(const Env& env) {
  const std::int64_t number = number_of(env, {"PMI_FD"});
  const bool open = number > STDERR_FILENO && number <= std::numeric_limits<int>::max() &&
                    ::fcntl(static_cast<int>(number), F_GETFD) >= 0;
  return Fd(open ? static_cast<int>(number) : -1);
}

/// The program's output. Streams that torch's launcher redirected to a file (--redirects) stay
/// redirected.
int output_of(int own, int pipe, bool brings_program) {
  struct stat status {};
  const bool is_file = ::fstat(own, &status) == 0 && S_ISREG(status.st_mode);
  return brings_program && is_file ? own : pipe;
}

/// Passes the program its channel to hydra's daemon as `channel`.
Result<pid_t> start(SocketClient& train, const Command& command, PmiRelay& relay, int channel,
                    bool brings_program) {
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  supervise::SpawnOptions options;
  options.own_group = true;  // A signal to this process's group must not reach the program twice.
  options.death_signal = SIGKILL;
  supervise::Stdio stdio{STDIN_FILENO,
                         output_of(STDOUT_FILENO, out.write.get(), brings_program),
                         output_of(STDERR_FILENO, err.write.get(), brings_program),
                         {}};
  if (relay.programs_end()) stdio.extra = {{channel, relay.programs_end().get()}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, options));
  relay.programs_end().reset();
  std::vector<int> given = {out.read.get(), err.read.get()};
  if (relay.from_daemon() >= 0) given.push_back(relay.from_daemon());
  TRY(train.send(type_of(Message::rank_started), to_text({{"pid", pid}}), given));
  return pid;
}

/// The failure that the program reported to torch's launcher; empty: nothing.
std::string error_file(const Env& env) {
  if (!env.contains(restart_count)) return {};  // The file is not this rank's alone.
  const Result<std::string> text =
      read_head(value_of(env, {"TORCHELASTIC_ERROR_FILE"}), error_file_bytes_max);
  return text ? to_utf8(*text) : "";
}

void report_end(SocketClient& train, const job::Outcome& outcome, const std::string& told = {}) {
  Json end = {{"outcome", job::to_json(outcome)}, {"unix_ms", wall_time().count()}};
  if (!told.empty()) end["error_file"] = told;
  if (!train.send(type_of(Message::rank_end), to_text(end))) return;
  Result<std::optional<Frame>> frame = train.received();
  int wait_ms = ack_wait_ms;
  while (frame) {
    if (*frame && (*frame)->type == type_of(Message::rank_ack)) return;
    if (*frame) {
      // In a stop, `train` decides when: a launcher that sees this end would kill the other ranks.
      if ((*frame)->type == type_of(Message::rank_hold)) wait_ms = -1;
      frame = train.received();
      continue;
    }
    pollfd fd{train.fd(), POLLIN, 0};
    const int ready = ::poll(&fd, 1, wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    frame = train.receive_some();
  }
}

[[noreturn]] void end_like(const job::Outcome& outcome) {
  if (outcome.kind == job::Outcome::Kind::signaled) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    // Only this signal: others may be pending, but did not end the program.
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, outcome.number);
    std::signal(outcome.number, SIG_DFL);
    ::raise(outcome.number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  }
  ::_exit(job::exit_code(outcome));
}

}  // namespace

int rank_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm rank", Log::Level::info);
  Fd channel = take_launcher_channel(
      env);  // Before one of this process's own descriptors can get its number.
  Result<SocketClient> train = SocketClient::connect(value_of(env, {"MUSTER_SOCKET"}));
  if (!train) {
    log.error(train.error().text);
    return exit_cannot_run;
  }
  Fd signals = own_signals();
  Result<Command> own = program_of_line(args, env);
  const Result<Command> command = own ? ask(*train, *std::move(own), env, log) : std::move(own);
  if (!command) {
    log.error(command.error().text);
    report_end(*train, job::Outcome::failed(command.error().text));
    return exit_cannot_run;
  }
  const int channel_number = channel.get();
  Result<PmiRelay> relay = PmiRelay::open(std::move(channel));
  const Result<pid_t> pid = relay ? start(*train, *command, *relay, channel_number, !args.empty())
                                  : Result<pid_t>(relay.error());
  if (!pid) {  // `train` reports it, with rank and host.
    report_end(*train, job::Outcome::failed(pid.error().text));
    return exit_cannot_run;
  }
  // Outlives the program: hydra's daemon treats the end of its channel as the rank's end.
  Follower follower(*train, *pid, std::move(signals), *std::move(relay));
  const std::optional<job::Outcome> outcome = follower.until_end();
  if (!outcome) return exit_cannot_run;
  report_end(*train, *outcome, outcome->success() ? "" : error_file(env));
  end_like(*outcome);
}

}  // namespace muster::ranks
