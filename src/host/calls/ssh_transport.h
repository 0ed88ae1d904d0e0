#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "host/ranks/host_run.h"
#include "job/launch/plan.h"
#include "net/loop/loop.h"

namespace muster::calls {

// MUSTER_MPI_TRANSPORT=ssh: mpirun's daemons are started by ssh, as with sagemaker-training,
// instead of through the sessions between hosts. Every host's `train` runs an sshd as long as the
// job does; the leader waits for all of them before it starts mpirun, and runs ssh for its agents.

/// Reads MUSTER_MPI_TRANSPORT, "sessions" (as without it) or "ssh". Error: `invalid_input`.
Result<launch::Transport> transport_from(const Env& env);

inline constexpr std::uint16_t ssh_port = 22;

/// The host's ssh server, in the foreground. A rank that it starts finds its host's `train` by
/// MUSTER_SOCKET, which the server sets in each session's environment, and mpirun's daemon finds
/// there the host's own network interfaces and other MCA parameters of `env`, the server's
/// environment. This precedes any SetEnv of the image's own configuration, which then has no
/// effect. Keys, users and everything else are the image's. Errors: `not_found`, naming the package
/// to install; `invalid_input` for a path that sshd does not accept.
Result<Command> sshd_command(const Env& env, const std::string& socket_path);

/// Starts it as a part of the host's call; `on_end` is called if it ends before the call does.
/// Errors: as sshd_command() and HostRun::start().
Result<void> start_sshd(ranks::HostRun& host_run, const Env& env, ranks::HostRun::Sink sink,
                        std::function<void(job::Verdict)> on_end);

/// Waits until the ssh server of every host answers. Error: `timeout`, naming the hosts that do not
/// respond and the reason of the last failure.
loop::Task<Result<void>> wait_for_ssh(loop::Loop& loop, Args hosts, std::uint16_t port,
                                      TimePoint deadline);

}  // namespace muster::calls
