#pragma once

// For tests of `sm rank` only.

#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/ranks/host_socket.h"
#include "host/ranks/rank.h"
#include "host/ranks/testing.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/testing.h"
#include "os/supervise/output_pipe.h"
#include "os/supervise/reaper.h"

namespace muster::ranks {

using job::Outcome;

inline constexpr Duration guard = std::chrono::seconds(60);

/// A host's `train` in small: it runs one command for every rank that comes.
struct Host {
  Host() {
    HostSocket::Callbacks callbacks;
    callbacks.on_rank = [this](const RankHello& hello) -> Result<RankAnswer> {
      hellos.push_back(hello);
      if (!refusal.empty()) return fail(Errc::closed, refusal);
      return RankAnswer{run, place};
    };
    callbacks.on_started = [this](int rank, std::int64_t pid, Fd out, Fd err) {
      started.push_back(rank);
      pids[rank] = pid;
      reads.start(read(std::move(out), rank, job::Stream::out));
      reads.start(read(std::move(err), rank, job::Stream::err));
      moved.notify();
    };
    callbacks.on_rank_end = [this](int rank, RankEnd end) -> loop::Task<bool> {
      ends[rank].push_back(std::move(end.outcome));
      if (end.unseen) unseen.insert(rank);
      moved.notify();
      while (hold_ends) co_await moved.wait();
      co_return false;
    };
    callbacks.on_agent = [this](AgentCall call) {
      calls.push_back(std::move(call));
      moved.notify();
    };
    socket = *HostSocket::open(loop, path, std::move(callbacks));
    run.command.env = {{"PATH", "/usr/bin:/bin"}, {"MUSTER_SOCKET", path}};
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    socket.reset();
    std::filesystem::remove_all(folder);
  }

  loop::Task<> read(Fd pipe, int rank, job::Stream stream) {
    supervise::OutputReader reader(loop, std::move(pipe), rank, stream);
    supervise::LastWords words;
    const supervise::OutputReader::Sink sink = [this](job::Lines lines) -> loop::Task<> {
      text[{lines.rank, lines.stream}] += lines.bytes;
      moved.notify();
      co_return;
    };
    co_await reader.run(sink, words);
    moved.notify();
  }

  /// Starts a rank as mpirun would, and reports how `sm rank` itself ended.
  pid_t start(int rank, Env env = {}, int err = STDERR_FILENO) {
    env.emplace("OMPI_COMM_WORLD_RANK", std::to_string(rank));
    env.emplace("OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank % 2));
    return start_with(rank, std::move(env), err);
  }
  /// ... with these variables alone, and `kept` open.
  pid_t start_with(int rank, Env env, int err = STDERR_FILENO, int kept = 2) {
    return start_line(rank, {}, std::move(env), err, kept);
  }
  /// ... with its own command line.
  pid_t start_line(int rank, const Args& args, Env env, int err = STDERR_FILENO, int kept = 2) {
    env.emplace("MUSTER_SOCKET", path);
    const pid_t pid = fork_rank([&] { return rank_main(args, env); }, err, kept);
    reaper.watch(pid, [this, rank](Outcome outcome) {
      exits.emplace(rank, std::move(outcome));
      moved.notify();
    });
    return pid;
  }

  // Parameters are trivial: GCC 12 frees a temporary twice that co_await converts to one that is
  // not.
  template <class Holds>
  loop::Task<> until(Holds holds) {
    while (!holds()) co_await moved.wait();
  }
  loop::Task<> until_ended(int rank) {
    co_await until([this, rank] { return exits.contains(rank) && reads.size() == 0; });
  }
  /// Until the rank's program has written this much.
  loop::Task<> until_says(int rank, std::string_view words) {
    co_await until([this, rank, words] { return out(rank).find(words) != std::string::npos; });
  }
  std::string out(int rank) { return text[{rank, job::Stream::out}]; }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  loop::Event moved{loop};
  std::string folder = *make_private_folder("/tmp", "muster-rank-");
  std::string path = folder + "/socket";
  launch::RankRun run;
  std::string place;  ///< RankAnswer::near_gpu
  std::string refusal;
  bool hold_ends = false;
  std::vector<RankHello> hellos;
  std::vector<int> started;
  std::map<int, std::int64_t> pids;  ///< The ranks' programs.
  std::map<int, std::vector<Outcome>> ends;
  std::set<int> unseen;          ///< Ranks whose `sm rank` was killed.
  std::map<int, Outcome> exits;  ///< How each `sm rank` itself ended.
  std::map<std::pair<int, job::Stream>, std::string> text;
  std::vector<AgentCall> calls;
  std::unique_ptr<HostSocket> socket;
  loop::Tasks reads{loop};  ///< What the ranks' programs write.
};

inline Args shell(const std::string& script) {
  return {"sh", "-c", script};
}

}  // namespace muster::ranks
