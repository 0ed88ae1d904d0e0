#include "host/ranks/host_run.h"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

#include "host/ranks/rank_testing.h"

namespace muster::ranks {
namespace {

using namespace std::chrono_literals;

/// A host whose ranks come as a launcher starts them.
struct Bench {
  Bench() { REQUIRE(host_run.listen({})); }

  void begin_call(const std::string& script) {
    launch::RankRun run;
    run.command = {shell(script), {{"PATH", "/usr/bin:/bin"}}, "/"};
    const auto on_rank_end = [this](const job::Verdict& verdict) {
      ends[verdict.rank] = verdict.outcome;
      moved.notify();
    };
    const auto on_restart = [this](const job::Verdict& verdict) {
      restarts.push_back(verdict);
      moved.notify();
    };
    host_run.begin_call(
        std::move(run), sink(), on_rank_end, [this] { ++stopped; }, on_restart);
  }
  HostRun::Sink sink() {
    return [this](job::Lines lines) -> loop::Task<> {
      // A shell reports the end of its `sleep`.
      if (lines.stream == job::Stream::out) text += lines.bytes;
      moved.notify();
      co_return;
    };
  }
  /// As torch's launcher starts it, for the n-th time of m.
  void start_torch_rank(int rank, const std::string& script, int restart, int restart_max) {
    Env env = {{"RANK", std::to_string(rank)},
               {"LOCAL_RANK", "0"},
               {"PATH", "/usr/bin:/bin"},
               {"TORCHELASTIC_RESTART_COUNT", std::to_string(restart)},
               {"TORCHELASTIC_MAX_RESTARTS", std::to_string(restart_max)},
               {"TORCHELASTIC_ERROR_FILE", host_run.folder() + "/error.json"},
               {"MUSTER_SOCKET", host_run.socket_path()}};
    start(rank, {"--", "sh", "-c", script}, std::move(env));
  }
  void start_rank(int rank) {
    Env env = {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
               {"MUSTER_SOCKET", host_run.socket_path()}};
    start(rank, {}, std::move(env));
  }
  void start(int rank, const Args& args, Env env) {
    reaper.watch(fork_rank([&] { return rank_main(args, env); }), [this, rank](Outcome outcome) {
      exits[rank] = std::move(outcome);
      moved.notify();
    });
  }
  loop::Task<> until_exits(std::size_t count) {
    while (exits.size() < count) co_await moved.wait();
  }
  loop::Task<> until_ends(std::size_t count) {
    while (ends.size() < count) co_await moved.wait();
  }
  loop::Task<> until_said(std::string_view words) {
    while (text.find(words) == std::string::npos) co_await moved.wait();
  }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  loop::Event moved{loop};
  Log log{STDERR_FILENO, "test", Log::Level::error};
  HostRun host_run{loop, reaper, "localhost", log};
  std::string text;
  std::map<int, Outcome> ends;
  std::vector<job::Verdict> restarts;  ///< Failures of ranks that are started again.
  std::map<int, Outcome> exits;        ///< How each `sm rank` itself ended.
  int stopped = 0;                     ///< How often the call's stop was over.
};

TEST_CASE_FIXTURE(Bench, "host run: in a stop ranks are kept back until the call is over") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call("trap 'echo saved; exit 3' TERM; echo runs; while :; do sleep 0.01; done");
    b.start_rank(0);
    b.start_rank(1);
    co_await b.until_said("runs\nruns");
    b.host_run.stop(guard);
    co_await b.until_ends(2);
    CHECK(b.stopped == 1);
    b.start_rank(2);  // Gets no answer: a refusal would be a failure to its launcher.
    CHECK(b.exits.empty());
    b.host_run.release_ranks();
    co_await b.until_exits(3);
  };
  loop::run_task(loop, story(*this), guard);
  CHECK(text == "runs\nruns\nsaved\nsaved\n");
  CHECK(ends == std::map<int, Outcome>{{0, Outcome::exited(3)}, {1, Outcome::exited(3)}});
  CHECK(exits == std::map<int, Outcome>{
                     {0, Outcome::exited(3)}, {1, Outcome::exited(3)}, {2, Outcome::exited(127)}});
}

TEST_CASE_FIXTURE(Bench,
                  "host run: a rank's end in a stop is that of all it has in the foreground") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call(
        "sh -c \"trap 'sleep 0.2; echo saved; exit' TERM; echo runs;"
        " while :; do sleep 0.01; done\"; exit 4");
    b.start_rank(0);
    co_await b.until_said("runs");
    b.host_run.stop(guard);
    co_await b.until_ends(1);
    CHECK(b.text == "runs\nsaved\n");
    co_await b.host_run.finish_call({});
    co_await b.until_exits(1);
  };
  loop::run_task(loop, story(*this), guard);
}

TEST_CASE_FIXTURE(Bench, "host run: the end of a stop's grace is the end of its ranks") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call("trap '' TERM; echo runs; while :; do sleep 0.01; done");
    b.start_rank(0);
    co_await b.until_said("runs");
    b.host_run.stop({});
    co_await b.until_ends(1);
  };
  loop::run_task(loop, story(*this), guard);
  CHECK(ends[0] == Outcome::signaled(SIGKILL));
  CHECK(stopped == 1);
}

TEST_CASE_FIXTURE(Bench, "host run: in a stop a program's end is that of what it runs") {
  struct {
    const char* name;
    const char* script;
    const char* said;
  } const cases[] = {
      {"a shell's child", "sh -c \"$SAVES\"", "saved\n"},
      {"a session of its own", "setsid sh -c \"$SAVES\"", "saved\n"},
      {"two with & and a wait", "sh -c \"$SAVES\" & wait", "saved\n"},
      {"a pipe's reader outlives the writer", "sh -c \"$SAVES\" | cat", "saved\n"},
      {"a helper is not waited for",
       "(trap '' TERM; while :; do sleep 1; done) & sh -c \"$SAVES\"; :", "saved\n"},
      {"nobody saves", "echo runs; sleep 1000", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Bench b;
    std::optional<Outcome> end;
    const auto story = [&]() -> loop::Task<> {
      HostRun::Program program;
      program.name = "train.sh";
      program.user = true;
      program.command = {shell(c.script),
                         {{"PATH", "/usr/bin:/bin"},
                          {"SAVES",
                           "trap 'sleep 0.2; echo saved; exit' TERM; echo runs;"
                           " while :; do sleep 0.01; done"}},
                         "/"};
      program.sink = b.sink();
      program.on_end = [&](const job::Verdict& verdict) {
        end = verdict.outcome;
        b.moved.notify();
      };
      CHECK(b.host_run.start(std::move(program)));
      co_await b.until_said("runs");
      b.host_run.stop(guard);
      while (!end) co_await b.moved.wait();
      co_await b.host_run.finish({});
    };
    loop::run_task(b.loop, story(), guard);
    CHECK(b.text == std::string("runs\n") + c.said);
  }
}

TEST_CASE_FIXTURE(Bench, "host run: a rank of torch's launcher reconnects after its failure") {
  const auto story = [](Bench& b) -> loop::Task<> {
    const std::string writes =
        R"(echo '{"message": {"message": "ValueError: bad"}}' > "$TORCHELASTIC_ERROR_FILE"; )";
    b.begin_call("");
    b.start_torch_rank(3, writes + "exit 7", 0, 1);
    co_await b.until_exits(1);
    b.start_torch_rank(3, writes + "exit 8", 1, 1);
    co_await b.until_ends(1);
    std::error_code removed;
    std::filesystem::remove(b.host_run.folder() + "/error.json", removed);
  };
  loop::run_task(loop, story(*this), guard);
  REQUIRE(restarts.size() == 1);
  CHECK(restarts[0].outcome == Outcome::exited(7));
  CHECK(restarts[0].error == "ValueError: bad");
  CHECK(restarts[0].rank == 3);
  CHECK(ends[3] == Outcome::exited(8));
}

TEST_CASE_FIXTURE(Bench, "host run: a stop waits for the ranks of a launcher, and not for it") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call("");
    HostRun::Program launcher;
    launcher.name = "torchrun";
    launcher.command = {shell("sleep 1000"), {{"PATH", "/usr/bin:/bin"}}, "/"};
    launcher.sink = b.sink();
    launcher.on_end = [&b](const job::Verdict&) { b.moved.notify(); };
    CHECK(b.host_run.start(std::move(launcher)));
    b.start_torch_rank(
        0, "trap 'echo saved; exit 143' TERM; echo runs; while :; do sleep 0.01; done", 0, 3);
    co_await b.until_said("runs");
    b.host_run.stop(guard);
    while (b.stopped == 0) co_await b.moved.wait();
    CHECK(b.exits.empty());  // The launcher sees no end, for it would start the rank again.
    co_await b.host_run.finish_call(Duration());
    co_await b.until_exits(1);
  };
  loop::run_task(loop, story(*this), guard);
  CHECK(text == "runs\nsaved\n");
  CHECK(restarts.empty());
  CHECK(ends[0] == Outcome::exited(143));
}

}  // namespace
}  // namespace muster::ranks
