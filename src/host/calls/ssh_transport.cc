#include "host/calls/ssh_transport.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/backoff.h"
#include "base/text.h"
#include "job/launch/mpi_flavour.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/probe_port.h"

namespace muster::calls {
namespace {

constexpr const char* sshd = "/usr/sbin/sshd";  // sshd starts itself again by its path.
/// A complete greeting: after it, the server does not log a hang-up as an error.
constexpr const char* greeting = "SSH-2.0-muster\r\n";
constexpr const char* any_servers = "SSH-";  ///< Source: RFC 4253, 4.2.
constexpr Duration one_try = std::chrono::seconds(5);

/// The hosts that have not answered, with the last reason.
using Missing = std::map<std::string, std::string>;

loop::Task<> wait_for_one(loop::Loop& loop, Missing& missing, std::string host, std::uint16_t port,
                          TimePoint deadline) {
  Backoff backoff;
  loop::Timer timer(loop);
  while (Clock::now() < deadline) {
    const TimePoint until = std::min(deadline, Clock::now() + one_try);
    loop::Greetings greetings{greeting, any_servers};
    const Result<void> answer =
        co_await loop::port_answers(loop, host, port, std::move(greetings), until);
    if (answer) {
      missing.erase(host);
      co_return;
    }
    missing[host] = answer.error().text;
    const Duration pause = backoff.next(random_chance());
    if (Clock::now() + pause >= deadline) co_return;
    co_await timer.after(pause);
  }
}

}  // namespace

Result<launch::Transport> transport_from(const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_MPI_TRANSPORT");
  if (found == env.end() || found->second == "sessions") return launch::Transport::sessions;
  if (found->second == "ssh") return launch::Transport::ssh;
  return fail(Errc::invalid_input, "MUSTER_MPI_TRANSPORT is \"" + to_utf8(found->second) +
                                       "\"; expected \"sessions\" or \"ssh\"");
}

Result<Command> sshd_command(const Env& env, const std::string& socket_path) {
  if (::access(sshd, X_OK) != 0)
    return fail(
        Errc::not_found,
        std::string("MUSTER_MPI_TRANSPORT=ssh: cannot find ") + sshd +
            ": install openssh-server in the image (Debian: apt-get install openssh-server "
            "&& mkdir -p /run/sshd), with SSH keys that let the hosts log in to each other");
  if (socket_path.empty() || socket_path.find_first_of(" \t\n\"'\\#=") != std::string::npos)
    return fail(Errc::invalid_input,
                "sshd cannot use the socket path \"" + to_utf8(socket_path) + "\"");
  std::string session = "SetEnv=MUSTER_SOCKET=" + socket_path;
  for (const auto& [name, value] : launch::ssh_session_variables(launch::launcher_environment(env)))
    session += " " + name + "=" + value;
  return Command{{sshd, "-D", "-e", "-o", "LogLevel=ERROR", "-o", session}, env, "/"};
}

Result<void> start_sshd(ranks::HostRun& host_run, const Env& env, ranks::HostRun::Sink sink,
                        std::function<void(job::Verdict)> on_end) {
  ranks::HostRun::Program program;
  program.name = "sshd";
  program.command = TRY(sshd_command(env, host_run.socket_path()));
  program.sink = std::move(sink);
  program.on_end = std::move(on_end);
  return host_run.start(std::move(program));
}

loop::Task<Result<void>> wait_for_ssh(loop::Loop& loop, Args hosts, std::uint16_t port,
                                      TimePoint deadline) {
  Missing missing;
  for (const std::string& host : hosts) missing[host] = "not tried";
  loop::Tasks tries(loop);
  for (const auto& [host, reason] : missing)
    tries.start(wait_for_one(loop, missing, host, port, deadline));
  co_await tries.join();
  if (missing.empty()) co_return Result<void>();
  std::string text;
  for (const auto& [host, reason] : missing)
    text += (text.empty() ? "" : ", ") + host + " (" + reason + ")";
  co_return fail(Errc::timeout, "no SSH server responds on port " + std::to_string(port) + " of " +
                                    text + "; MUSTER_MPI_TRANSPORT=ssh requires one on every host");
}

}  // namespace muster::calls
