#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/command.h"
#include "base/fd.h"
#include "base/time.h"
#include "job/launch/call.h"
#include "job/outcome/outcome.h"
#include "net/sockets/unix.h"

namespace muster::ranks {

/// A rank that connects, with the values from its launcher.
struct RankHello {
  int rank = 0;
  int local_rank = 0;
  int local_size = 0;  ///< How many ranks of its launcher the host has; -1: unknown.
  pid_t pid = 0;       ///< The pid of `sm rank`.
  /// The program is on its own command line, with the environment from its launcher.
  bool brings_program = false;
  int restart = 0;   ///< How often the launcher has restarted its ranks.
  int restarts = 0;  ///< How often it may restart them.
};
/// What a rank is told.
struct RankAnswer {
  launch::RankRun run;
  std::string near_gpu{};  ///< A rank's place: docs/protocols/host-socket.md; empty: none.
};
/// How a rank ended.
struct RankEnd {
  job::Outcome outcome;
  std::string error_file = {};  ///< Written for torch's launcher; empty: none.
  bool unseen = false;          ///< `sm rank` itself was killed.
};
/// mpirun requests a daemon on `host`; `text` is the command that it would pass to ssh.
struct AgentCall {
  std::string host;
  std::string text;
  Fd out, err;  ///< The agent's own.
  /// Ends the agent with `code`, or with one line if `error` is not empty. Call once.
  using Reply = std::function<void(int code, const std::string& error)>;
  Reply reply;
};

/// The unix socket of a host's `train`, to which ranks, agents and operators connect. Source:
/// docs/protocols/host-socket.md.
class HostSocket {
 public:
  struct Callbacks {
    /// Error: the rank is refused with this text.
    std::function<Result<RankAnswer>(const RankHello&)> on_rank;
    /// True: a rank that connects now gets no answer before release_ranks(). Its launcher would
    /// treat a refusal as a failure.
    std::function<bool()> keeps_waiting = [] { return false; };
    /// The rank's program runs; the read ends of its output.
    std::function<void(int rank, std::int64_t pid, Fd out, Fd err)> on_started;
    /// The rank's program has ended, or could not be started, or `sm rank` itself was killed. After
    /// this returns, the rank is released or, if it returns true, held until release_ranks().
    std::function<loop::Task<bool>(int rank, RankEnd end)> on_rank_end;
    std::function<void(AgentCall)> on_agent;
    /// An operator makes a call; `end` answers it. Error: the call is refused with this text.
    std::function<Result<void>(launch::Call, launch::CallEnd end)> on_call;
    /// The operator of a call without an answer has exited.
    std::function<void()> on_call_gone;
  };
  /// Listens at `path` (mode 0600). Error: `system`.
  static Result<std::unique_ptr<HostSocket>> open(loop::Loop& loop, const std::string& path,
                                                  Callbacks callbacks);
  HostSocket(const HostSocket&) = delete;
  HostSocket& operator=(const HostSocket&) = delete;
  /// Ends all connections; each `sm rank` then kills its program. No callback is called after.
  ~HostSocket();

  /// Sends a signal to the programs of all running ranks and to their process groups; a SIGTERM
  /// with a grace is a stop (os/supervise/stop.h). The signal passes through `sm rank`: one that is
  /// stopped itself (SIGSTOP) passes nothing on.
  void signal_ranks(int number, Duration grace = {});
  /// Closes the channels of ranks to hydra's daemon, which are held until the launcher has exited.
  /// The daemon treats a closed channel as a crash, even after cmd=finalize (MPICH 5.0, with
  /// hydra's cleanup disabled): mpiexec informs the other daemons, and fails if one of them has
  /// just ended.
  void close_launcher_channels();
  /// Releases all held ranks that have ended, and answers those that wait.
  void release_ranks();

 private:
  struct State;
  explicit HostSocket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::ranks
