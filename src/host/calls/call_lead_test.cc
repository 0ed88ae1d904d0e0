#include "host/calls/call_lead.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "host/calls/conduct.h"
#include "net/loop/testing.h"

namespace muster::calls {
namespace {

constexpr Duration guard = std::chrono::seconds(30);

job::Training training_of(const std::string& host) {
  job::Training training;
  training.current_host = host;
  training.hosts = {host};
  return training;
}

/// The leader algo-1. Other hosts are the test's: what is posted to them is kept.
struct Leader {
  Leader() { REQUIRE(host_run.listen({})); }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  ~Leader() { std::filesystem::remove_all(folder); }

  /// Makes the call and waits for its answer.
  job::Verdict ask(const launch::Call& call) {
    std::optional<job::Verdict> verdict;
    const auto make = [&](const launch::CallResult& result) {
      verdict = result.verdict;
      answered.notify();
    };
    REQUIRE(calls.call(call, make, false));
    const auto wait = [](Leader& self, std::optional<job::Verdict>& end) -> loop::Task<> {
      const TimePoint until = Clock::now() + guard;
      while (!end && Clock::now() < until) co_await self.answered.wait_until(until);
    };
    loop::run_task(loop, wait(*this, verdict), 2 * guard);
    REQUIRE(verdict);
    return *verdict;
  }
  /// A program that leaves what is known of its signals in `name`.
  Command tells(const std::string& name) const {
    const std::string line = "grep SigIgn /proc/self/status > " + folder + "/" + name;
    return {{"sh", "-c", line}, {{"PATH", "/usr/bin:/bin"}}, "/"};
  }
  std::string told(const std::string& name) const { return *read_file(folder + "/" + name); }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  Log log{2, "test", Log::Level::error};
  std::string folder = *make_private_folder("/tmp", "muster-calls-");
  job::Training training = training_of("algo-1");
  env::TrainOptions options{};
  ranks::HostRun host_run{loop, reaper, "algo-1", log};
  Output output{loop, std::nullopt};
  HostContext context{loop, training, options, "", host_run, output, log, {}, true, {}};
  std::vector<std::string> posts;  ///< "algo-2:31:{}"
  CallLead calls{
      context, [this](const std::string& to, job::Message type, std::string_view text) {
        posts.push_back(to + ":" + std::to_string(job::type_of(type)) + ":" + std::string(text));
      }};
  loop::Event answered{loop};
};

/// A call of algo-1 and algo-2 whose launcher runs until the test lets it go.
struct Launch : Leader {
  Launch() : Launch(false) {}
  /// `by_ssh`: daemons come by the test's ssh. The call is direct then, so no ssh server is needed.
  explicit Launch(bool by_ssh) {
    REQUIRE(write_file(folder + "/orted", "#!/bin/sh\necho daemon\nexit $1\n", 0700));
    launch::Call call;
    call.name = "mpirun";
    call.digest = "digest";
    call.hosts = {"algo-1", "algo-2"};
    call.rank.command = tells("rank");
    const std::string wait = "until test -e " + folder + "/go; do sleep 0.01; done; exit 0";
    call.launcher = Command{{"sh", "-c", wait}, {{"PATH", folder + ":/usr/bin:/bin"}}, "/"};
    if (by_ssh) {
      call.kind = launch::Call::Kind::direct;
      call.by_ssh = true;
      call.programs.push_back({"rank 0", 0, *call.launcher, true});
      call.launcher->env["PATH"] = folder;
    }
    REQUIRE(calls.call(
        call, [this](const launch::CallResult& end) { result = end; }, false));
    calls.member_calls("algo-2", {"mpirun", "digest", ""});
  }
  /// mpirun's agent asks for a daemon; the first daemon has the id 1.
  void ask_daemon(const std::string& host, const std::string& text) {
    ranks::AgentCall agent;
    agent.host = host;
    agent.text = text;
    agent.out = Fd(::dup(out.write.get()));
    agent.err = Fd(::dup(err.write.get()));
    agent.reply = [this](int code, const std::string& error) {
      replies.push_back(std::to_string(code) + " " + error);
    };
    calls.agent(std::move(agent));
  }
  static Frame output(int id, job::Stream stream, const std::string& bytes) {
    return {job::type_of(job::Message::exec_output),
            job::encode(job::Lines{.rank = id, .stream = stream, .bytes = bytes})};
  }
  static Frame end(int id, job::Outcome outcome) {
    return {job::type_of(job::Message::exec_end), ranks::exec_end_text({id, std::move(outcome)})};
  }
  /// Lets the loop run until `done`.
  template <class Done>
  void until(Done done) {
    const auto wait = [](loop::Loop& on, Done& is_done) -> loop::Task<> {
      loop::Timer pause(on);
      while (!is_done()) co_await pause.after(std::chrono::milliseconds(1));
    };
    loop::run_task(loop, wait(loop, done), 2 * guard);
  }
  bool posted(const std::string& text) const {
    return std::find(posts.begin(), posts.end(), text) != posts.end();
  }
  static std::string text_in(const Pipe& pipe) {
    std::string text(4096, '\0');
    const ssize_t count = ::read(pipe.read.get(), text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

  Pipe out = *make_pipe();
  Pipe err = *make_pipe();
  std::vector<std::string> replies;
  std::optional<launch::CallResult> result;
};

TEST_CASE_FIXTURE(Leader, "call: its launcher ignores SIGPIPE, the users' programs do not") {
  launch::Call mpi;
  mpi.name = "mpirun";
  mpi.hosts = {"algo-1"};
  mpi.rank.command = tells("rank");
  mpi.launcher = tells("launcher");
  CHECK(ask(mpi).success());
  CHECK(told("launcher") == "SigIgn:\t0000000000001000\n");
  launch::Call direct;
  direct.name = "run";
  direct.hosts = {"algo-1"};
  direct.kind = launch::Call::Kind::direct;
  direct.programs.push_back({"sh", 0, tells("program"), true});
  CHECK(ask(direct).success());
  CHECK(told("program") == "SigIgn:\t0000000000000000\n");
}

TEST_CASE_FIXTURE(Leader,
                  "call: a program that cannot start is the answer, and the next call runs") {
  launch::Call call;
  call.name = "run";
  call.hosts = {"algo-1"};
  call.kind = launch::Call::Kind::direct;
  call.programs.push_back({"none", 0, {{"/none"}, {}, "/"}, true});
  const job::Verdict verdict = ask(call);
  CHECK(verdict.process == "none");
  CHECK(verdict.outcome.kind == job::Outcome::Kind::failed);
  CHECK(calls.last_failure() == verdict);
  call.programs[0].command = tells("program");
  CHECK(ask(call).success());
  CHECK(!calls.last_failure());
}

TEST_CASE_FIXTURE(Leader, "call: a launcher that is not there fails it in one line") {
  launch::Call call;
  call.name = "mpirun train.py";
  call.hosts = {"algo-1"};
  call.rank.command = tells("rank");
  CHECK(ask(call).outcome.text == "mpirun train.py did not provide a launcher command on algo-1");
  call.launcher = Command{{"/none/mpirun"}, {}, "/"};
  CHECK(ask(call).outcome.kind == job::Outcome::Kind::failed);
}

TEST_CASE_FIXTURE(Leader, "call: a daemon is refused where no launcher runs, in one line") {
  std::string refused;
  ranks::AgentCall agent;
  agent.host = "algo-1";
  agent.reply = [&](int code, const std::string& error) {
    refused = std::to_string(code) + " " + error;
  };
  calls.agent(std::move(agent));
  CHECK(refused == "1 no launch is in progress");
}

TEST_CASE_FIXTURE(Launch,
                  "call: a daemon of another host is that host's; mpirun gets its lines and end") {
  CHECK(posted("algo-2:31:{}"));  // call_start
  ask_daemon("algo-2", "orted 0");
  CHECK(posts.back() == "algo-2:6:" + ranks::exec_text({1, "orted 0"}));
  calls.member_output(output(1, job::Stream::out, "to out\n"));
  calls.member_output(output(1, job::Stream::err, "to err\n"));
  calls.member_output(output(9, job::Stream::out, "of no daemon\n"));
  std::string shown, complained;
  until([&] {
    if (shown.empty()) shown = text_in(out);
    if (complained.empty()) complained = text_in(err);
    return !shown.empty() && !complained.empty();
  });
  CHECK(shown == "to out\n");
  CHECK(complained == "to err\n");
  CHECK(replies.empty());
  calls.member_daemon_ended("algo-2", end(9, job::Outcome::exited(1)));
  calls.member_daemon_ended("algo-2", end(1, job::Outcome::exited(0)));
  calls.member_daemon_ended("algo-2", end(1, job::Outcome::exited(1)));  // Reported once.
  until([&] { return !replies.empty(); });
  CHECK(replies == std::vector<std::string>{"0 "});
  REQUIRE(write_file(folder + "/go", ""));
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });  // call_drain
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(result->verdict.success());
  CHECK(posts.back().starts_with("algo-2:34:"));  // call_end
}

TEST_CASE_FIXTURE(Launch,
                  "call: a member that sends output faster than mpirun reads is waited for") {
  ask_daemon("algo-2", "orted 0");
  const std::string line = std::string(500'000, 'x') + "\n";
  calls.member_output(output(1, job::Stream::out, line));
  CHECK(!calls.behind());
  for (int i = 0; i < 4; ++i) calls.member_output(output(1, job::Stream::out, line));
  CHECK(calls.behind());
  bool has_room = false;
  loop::Tasks tasks(loop);
  const auto wait = [](CallLead& of, bool& done) -> loop::Task<> {
    co_await of.room();
    done = true;
  };
  tasks.start(wait(calls, has_room));
  std::size_t read = 0;
  SUBCASE("until mpirun has read") {
    until([&] {
      read += text_in(out).size();
      return has_room;
    });
    CHECK(read > 1'000'000);
  }
  SUBCASE("or until the daemon is given up") {
    calls.close();
    until([&] { return has_room; });
  }
  CHECK(!calls.behind());
}

TEST_CASE_FIXTURE(Launch, "call: a daemon's last lines arrive before its end, even in one read") {
  ask_daemon("algo-2", "orted 0");
  calls.member_output(output(1, job::Stream::err, "no route to algo-1\n"));
  calls.member_daemon_ended("algo-2", end(1, job::Outcome::exited(4)));
  until([&] { return !replies.empty(); });
  CHECK(replies == std::vector<std::string>{"4 "});
  CHECK(text_in(err) == "no route to algo-1\n");
}

TEST_CASE_FIXTURE(Launch,
                  "call: a daemon of this host runs here, and mpirun's agent ends as it does") {
  ask_daemon("algo-1", "orted 0");
  until([&] { return !replies.empty(); });
  CHECK(replies == std::vector<std::string>{"0 "});
  ask_daemon("algo-1", "orted 4");
  until([&] { return replies.size() == 2; });
  CHECK(replies[1] == "4 ");
  // A daemon that fails is the end of its call.
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(result->verdict.process == "orted");
  CHECK(result->verdict.outcome == job::Outcome::exited(4));
}

TEST_CASE_FIXTURE(Launch,
                  "call: agents of daemons that a failed call left end with it, not before") {
  ask_daemon("algo-2", "orted 0");
  job::Verdict failed;
  failed.host = "algo-2";
  failed.process = "rank";
  failed.outcome = job::Outcome::exited(3);
  calls.ended(failed);
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });
  CHECK(replies.empty());
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(replies == std::vector<std::string>{"1 "});
}

TEST_CASE_FIXTURE(Launch, "call: mpirun gets the reason why a daemon cannot start") {
  ask_daemon("algo-1", "rm -rf /");
  ask_daemon("algo-1", "/none/orted");
  ask_daemon("algo-7", "orted");
  REQUIRE(replies.size() == 3);
  CHECK(replies[0].starts_with("1 "));
  CHECK(replies[0].find("only orted") != std::string::npos);
  CHECK(replies[1].find("/none/orted") != std::string::npos);
  CHECK(replies[2] == "1 algo-7 is not a host of this job");
}

TEST_CASE_FIXTURE(Launch,
                  "call: a stop lets the launcher end by itself, and a close answers no call") {
  calls.stop();
  calls.ended({});
  CHECK(!result);
  calls.close();
  loop::run_task(loop, host_run.finish(Duration()));  // The launcher is killed.
  CHECK(!result);
  ask_daemon("algo-1", "orted 0");
  CHECK(replies == std::vector<std::string>{"1 no launch is in progress"});
}

TEST_CASE_FIXTURE(Leader,
                  "call: a host that ends without its call fails it for those that made it") {
  launch::Call call;
  call.name = "run";
  call.hosts = {"algo-1", "algo-2"};
  call.kind = launch::Call::Kind::direct;
  std::optional<launch::CallResult> result;
  REQUIRE(calls.call(
      call, [&](const launch::CallResult& end) { result = end; }, false));
  CHECK(calls.call(call, nullptr, false).error().code == Errc::closed);
  calls.gone("algo-2");
  REQUIRE(result);
  CHECK(result->verdict.outcome.text == "exited without calling run");
  CHECK(result->verdict.host == "algo-2");
}

TEST_CASE_FIXTURE(Launch,
                  "call: a rank that restarts is the answer if its launcher then gives up") {
  job::Verdict verdict;
  verdict.host = "algo-2";
  verdict.rank = 1;
  verdict.outcome = job::Outcome::exited(5);
  calls.restarts(verdict);
  verdict.rank = -1;
  verdict.outcome = job::Outcome::exited(1);
  calls.ended(verdict);
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(result->verdict.rank == 1);
  CHECK(result->verdict.outcome == job::Outcome::exited(5));
}

TEST_CASE_FIXTURE(Launch, "call: after a stop members learn when no host runs a rank any more") {
  const std::string release = "algo-2:" + std::to_string(job::type_of(job::Message::call_done));
  calls.stop();
  host_run.stop(guard);
  CHECK(!posted(release + ":{}"));
  calls.host_done("algo-2");
  until([&] { return posted(release + ":{}"); });
  CHECK(!result);
  REQUIRE(write_file(folder + "/go", ""));
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(result->verdict.success());
}

struct Sessions : Launch {
  Sessions() : Launch(true) {}
  void ssh(const std::string& script) const {
    REQUIRE(write_file(folder + "/ssh", "#!/bin/sh\n" + script + "\n", 0700));
  }
};

TEST_CASE_FIXTURE(Sessions, "call: mpirun gets the lines and the end of a daemon's ssh session") {
  ssh("echo \"$@\"; echo refused >&2; exit 3");
  ask_daemon("algo-2", "orted 0");
  until([&] { return !replies.empty(); });
  CHECK(replies == std::vector<std::string>{"3 "});
  CHECK(text_in(out) == "-x algo-2 orted 0\n");
  CHECK(text_in(err) == "refused\n");
  CHECK(!posted("algo-2:6:" + ranks::exec_text({1, "orted 0"})));  // No member starts it.
  CHECK(!result);                                                  // mpirun decides what fails.
  REQUIRE(write_file(folder + "/go", ""));
  calls.host_done("algo-2");
  until([&] { return posted("algo-2:32:" + ranks::grace_text({})); });
  calls.member_drained("algo-2");
  until([&] { return result.has_value(); });
  CHECK(result->verdict.success());
}

TEST_CASE_FIXTURE(Sessions, "call: an ssh that cannot start is the reason that mpirun gets") {
  ask_daemon("algo-2", "orted 0");
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].starts_with("1 "));
  CHECK(replies[0].find("ssh") != std::string::npos);
}

TEST_CASE_FIXTURE(Sessions, "call: a session that ends after the job's end is not reported") {
  ssh("while :; do :; done");
  ask_daemon("algo-2", "orted 0");
  calls.close();
  loop::run_task(loop, host_run.finish(Duration()));  // The session is killed.
  CHECK(replies.empty());
  CHECK(!result);
}

}  // namespace
}  // namespace muster::calls
