#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/log.h"
#include "host/ranks/host_socket.h"
#include "job/outcome/lines.h"
#include "job/outcome/outcome.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/devices/numa.h"
#include "os/supervise/oom.h"
#include "os/supervise/output_pipe.h"
#include "os/supervise/reaper.h"

namespace muster::ranks {

/// One host's share of a job: the programs that `train` starts itself (the script, mpirun, its
/// daemons), the ranks that connect to the host socket, their output, their ends and how they are
/// stopped.
class HostRun {
 public:
  using Sink = std::function<loop::Task<>(job::Lines)>;

  /// A program that train starts itself.
  struct Program {
    std::string name;   ///< For verdicts: "mpirun", "orted", "train.py".
    int rank = -1;      ///< >= 0: its output is user output of that rank.
    bool user = false;  ///< The user's own program: gets SIGTERM and a grace at a stop. Others are
                        ///< launchers: part of a call, they end with it.
    bool of_call = false;  ///< A user's program that is part of the call.
    bool ignore_sigpipe = false;
    Command command;
    Sink sink;
    std::function<void(job::Verdict)> on_end;  ///< Once, after its output has ended.
  };

  HostRun(loop::Loop& loop, supervise::Reaper& reaper, std::string host, const Log& log);
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;
  ~HostRun();

  /// Handlers for the host socket's other clients.
  struct Visitors {
    std::function<void(AgentCall)> on_agent;
    std::function<Result<void>(launch::Call, launch::CallEnd)> on_call;
    std::function<void()> on_call_gone;
    /// `pid`: of the rank's program.
    std::function<void(int rank, std::int64_t pid)> on_rank_started;
  };
  /// Opens the host's socket in a private folder. Errors: `system`.
  Result<void> listen(Visitors visitors);
  /// Empty before listen().
  const std::string& socket_path() const { return socket_path_; }
  const std::string& folder() const { return folder_; }  ///< The private folder; may be empty, too.

  /// The node of each of the host's GPUs, for ranks that run next to theirs.
  void know_gpus(std::vector<devices::NumaNode> nodes) { nodes_of_gpus_ = std::move(nodes); }

  /// From now on ranks may connect; they run `rank`. If the machine's name differs from the host's,
  /// they preload a library that makes gethostname() return the host's name. `on_rank_end` is
  /// called for each rank's end, after its last line was passed to `sink`. `on_stopped` is called
  /// once in a stop, when none of this host's ranks runs any more: the call is over here. Ranks
  /// that have ended are held until release_ranks() or finish_call(), and no rank starts.
  /// `on_restart` is called instead of `on_rank_end` for a failure after which the rank's launcher
  /// restarts it.
  void begin_call(launch::RankRun rank, Sink sink, std::function<void(job::Verdict)> on_rank_end,
                  std::function<void()> on_stopped,
                  std::function<void(job::Verdict)> on_restart = {});
  /// As above for a call without ranks that connect: its programs are those that start() was given.
  void begin_call(std::function<void()> on_stopped);
  /// No more ranks; they and the call's programs get SIGTERM, then SIGKILL after `grace`, launchers
  /// SIGKILL. Returns when all have ended. Without a call there is nothing to do.
  loop::Task<> finish_call(Duration grace);
  /// No rank runs on any host: releases the held ranks, and the launcher ends.
  void release_ranks();

  Result<void> start(Program program);

  /// A stop request: the user's programs, the ranks and all their child processes get SIGTERM
  /// (os/supervise/stop.h), and SIGKILL after `grace`. Launchers are left to exit on their own. A
  /// program that starts later gets the signal then. A program's end is reported once its
  /// foreground processes have ended, too. A second call sends no signal; it can only shorten the
  /// grace period.
  void stop(Duration grace);
  /// Ends everything: programs and ranks by SIGTERM and, after `grace`, SIGKILL; then launchers and
  /// all other descendants by SIGKILL. Returns when all have ended and their last lines have been
  /// passed on.
  loop::Task<> finish(Duration grace);
  /// True while a user's program or a rank runs.
  bool running() const { return users_ > 0; }
  /// Since stop().
  bool stopped() const { return stopped_; }

 private:
  struct Process;
  RankAnswer rank_come(const RankHello& hello);
  std::string place_of(const RankHello& hello) const;
  void tell_restart(const RankHello& hello);
  void restarts(const job::Verdict& verdict);
  void show_host_name(Env& env);
  loop::Task<> hold_back();
  void read_output(std::shared_ptr<Process> process, Fd out, Fd err, Sink sink);
  loop::Task<> read(std::shared_ptr<Process> process, Fd pipe, job::Stream stream, Sink sink);
  loop::Task<> report(std::shared_ptr<Process> process, RankEnd end);
  bool keeps_ranks() const { return stopped_ && call_open_ && !released_; }
  bool keeps_waiting() const;
  /// True if a stop or finish() is ending all processes.
  bool ending() const { return kill_at_ != TimePoint::max(); }
  void kill_after(Duration grace);
  loop::Task<> kill_at_deadline();
  void begin_stop(pid_t pid, const std::shared_ptr<Process>& process);
  loop::Task<> carry_stop(std::shared_ptr<Process> process);
  void stop_orphans();
  loop::Task<> say_what_is_left();
  std::string what_is_left() const;
  void look_if_stopped();
  void signal_users(int signal);
  void signal_call(int signal);
  void end_launchers();
  bool launchers_running() const;

  loop::Loop& loop_;
  supervise::Reaper& reaper_;
  std::string host_;
  const Log& log_;
  supervise::OomWatch oom_;
  std::string folder_, socket_path_;
  std::string hostname_library_;  ///< In the folder; empty until needed.
  launch::RankRun rank_run_;
  std::vector<devices::NumaNode> nodes_of_gpus_;
  Sink rank_sink_;
  std::function<void(job::Verdict)> on_rank_end_;
  std::function<void()> on_stopped_;  ///< Cleared when it is called.
  std::function<void(job::Verdict)> on_restart_;
  std::function<void(int, std::int64_t)> on_rank_started_;
  std::unique_ptr<HostSocket> socket_;
  std::map<int, std::shared_ptr<Process>> ranks_;       ///< Ranks that connected to the socket.
  std::map<pid_t, std::shared_ptr<Process>> programs_;  ///< Programs that we started.
  int users_ = 0;                                       ///< Users' programs and ranks that run.
  int call_running_ = 0;  ///< How many of `users_` are ranks and programs of the call.
  bool call_open_ = false;
  bool draining_ = false;  ///< In finish_call().
  int restart_ = 0;        ///< How often the call's launcher has restarted ranks here.
  std::optional<job::Verdict> restarts_for_;  ///< The failure that causes the next restart.
  int readers_ = 0;
  bool finishing_ = false;
  bool stopped_ = false;                            ///< By stop().
  bool released_ = false;                           ///< By release_ranks().
  std::vector<std::shared_ptr<Process>> stopping_;  ///< The user's programs that are being stopped.
  int ranks_stopped_ = 0;  ///< How many of the call's processes ran at the stop.
  loop::Event moved_;
  TimePoint kill_at_ = TimePoint::max();  ///< Before stop() and finish(): never.
  loop::Tasks tasks_;
};

}  // namespace muster::ranks
