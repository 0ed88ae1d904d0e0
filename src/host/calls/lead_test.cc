// The leader's part of a job over real sockets and processes; the test is the job's only member.

#include "host/calls/lead.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <csignal>

#include "host/calls/lead_testing.h"
#include "net/sockets/unix.h"

namespace muster::calls {
namespace {

using namespace std::chrono_literals;
using job::Message;
using job::Outcome;
using job::type_of;

constexpr const char* endless = "echo ready; sleep 1000";

/// A job of one host.
struct Alone : OneHost {
  Alone() : OneHost("algo-1", "algo-1", {"algo-1"}) {}
};

using Bench = LeadBench;

/// An operator: a program of the host's that makes a collective call over the host's socket.
struct Operator {
  Operator(OneHost& host, const launch::Call& call)
      : channel(*loop::unix_connect(host.loop, host.host_run.socket_path())) {
    channel->post(type_of(Message::call), launch::pack(call));
  }
  loop::Task<Frame> answer() {
    Result<Frame> frame = co_await channel->receive();
    REQUIRE(frame);
    co_return *std::move(frame);
  }
  std::unique_ptr<loop::UnixChannel> channel;
};

// --- one host ---

TEST_CASE_FIXTURE(Alone, "lead: a job of one host ends as its program does, lines and all") {
  work = program("echo hello; exit 3");
  Lead lead(context());
  const job::Verdict verdict = run(lead);
  CHECK(verdict.outcome == Outcome::exited(3));
  CHECK(verdict.host == "algo-1");
  CHECK(verdict.rank == 0);
  CHECK(lead.own_end() == verdict);
  CHECK(lines() == "hello\n");
  CHECK(payloads(told(), Message::outcome).size() == 1);
}

TEST_CASE_FIXTURE(Alone, "lead: a program gets the socket and the variables that operators need") {
  socket = true;
  for_operators = {{"MUSTER_MPI_TRANSPORT", "ssh"}};
  work = program("test -S $MUSTER_SOCKET && echo $MUSTER_MPI_TRANSPORT");
  Lead lead(context());
  CHECK(run(lead).success());
  CHECK(lines() == "ssh\n");
}

TEST_CASE_FIXTURE(Alone, "lead: a program that cannot start is the job's end, by name") {
  Work none = program("");
  none.program->argv = {"/none/python"};
  work = none;
  Lead lead(context());
  const job::Verdict verdict = run(lead);
  CHECK(verdict.process == "train.py");
  CHECK(verdict.outcome.kind == Outcome::Kind::failed);
  CHECK(verdict.outcome.text.starts_with("train.py: "));
  CHECK(verdict.outcome.text.find("/none/python") != std::string::npos);
}

TEST_CASE_FIXTURE(Alone, "lead: work that could not be prepared ends the job, with its reason") {
  job::Verdict install;
  install.host = "algo-1";
  install.process = "pip";
  install.outcome = Outcome::exited(1);
  install.error_class = "InstallRequirementsError";
  work = install;
  Lead lead(context());
  CHECK(run(lead) == install);
}

TEST_CASE("lead: a call that is the host's work is the job's end, well or not") {
  for (const int code : {0, 4}) {
    CAPTURE(code);
    Alone host;
    host.socket = true;
    Work call;
    call.name = "train.py";
    call.call = direct_call({"algo-1"}, "exit " + std::to_string(code));
    host.work = call;
    Lead lead(host.context());
    const job::Verdict verdict = host.run(lead);
    CHECK(verdict.outcome == Outcome::exited(code));
    CHECK(verdict.process == (code == 0 ? "" : "rank 0"));
    CHECK(payloads(host.told(), Message::outcome).size() == 1);
  }
}

TEST_CASE_FIXTURE(Alone, "lead: a stop gives the program its grace, and a second stop gives none") {
  work = program("trap 'echo asked' TERM; echo ready; while :; do sleep 1000 & wait; done");
  Lead lead(context());
  const auto story = [](Alone& b, Lead& part) -> loop::Task<> {
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    part.stop(SIGTERM);
    co_await b.until([&b] { return b.lines() == "ready\nasked\n"; });
    part.stop(SIGINT);
  };
  const job::Verdict verdict = run(lead, story(*this, lead));
  CHECK(verdict.outcome == Outcome::stopped(SIGINT));
  CHECK(lead.own_end()->outcome == Outcome::signaled(SIGKILL));
}

TEST_CASE_FIXTURE(Alone, "lead: a stop ends a call that is the host's work, and is the verdict") {
  socket = true;
  Work call;
  call.name = "train.py";
  call.call = direct_call({"algo-1"}, endless);
  work = call;
  Lead lead(context());
  const auto story = [](Alone& b, Lead& part) -> loop::Task<> {
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    part.stop(SIGTERM);
  };
  CHECK(run(lead, story(*this, lead)).outcome == Outcome::stopped(SIGTERM));
  CHECK(lead.own_end()->outcome == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Alone,
                  "lead: a program that ends well when it is asked to stop ends the job well") {
  work = program("trap 'exit 0' TERM; echo ready; while :; do sleep 1000 & wait; done");
  Lead lead(context());
  const auto story = [](Alone& b, Lead& part) -> loop::Task<> {
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    part.stop(SIGTERM);
  };
  CHECK(run(lead, story(*this, lead)).success());
}

TEST_CASE_FIXTURE(Alone, "lead: a stop while the work is prepared is its end: it never begins") {
  hold_work = true;
  work = program("echo began");
  Lead lead(context());
  const auto story = [](Alone& b, Lead& part) -> loop::Task<> {
    co_await b.until([&b] { return b.prepared; });
    part.stop(SIGTERM);
    b.hold_work = false;
    b.moved.notify();
  };
  const job::Verdict verdict = run(lead, story(*this, lead));
  CHECK(verdict.outcome == Outcome::stopped(SIGTERM));
  CHECK(lead.own_end()->process == "train");
  CHECK(lines().empty());
}

// --- the roll call ---

TEST_CASE_FIXTURE(Bench, "lead: a roll call that cannot begin is the job's end in one line") {
  key = "short";
  Lead lead(context());
  const job::Verdict verdict = run(lead);
  CHECK(verdict.outcome.text.starts_with("roll call: "));
  CHECK(verdict.host == "algo-1");
  CHECK(!prepared);
}

TEST_CASE_FIXTURE(Bench, "lead: hosts that do not join are named, and no work begins") {
  options.join_deadline = 300ms;
  Lead lead(context());
  const job::Verdict verdict = run(lead);
  CHECK(verdict.outcome.text == "algo-2 did not join within 300 ms");
  CHECK(!prepared);
}

TEST_CASE("lead: a stop while hosts are missing informs those that joined") {
  Bench bench({"algo-1", "algo-2", "algo-3"});
  Lead lead(bench.context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    b.open_member();
    loop::Tasks joining(b.loop);
    const auto join = [](Bench& on, Lead& leader) -> loop::Task<> {
      co_await on.until([&on] { return on.said.has("algo-2 has joined"); });
      leader.stop(SIGTERM);
    };
    joining.start(join(b, part));
    const Result<void> joined = co_await b.member->join();
    REQUIRE_FALSE(joined);
    CHECK(joined.error().text == "algo-1 was stopped by SIGTERM");
  };
  CHECK(bench.run(lead, story(bench, lead)).outcome == Outcome::stopped(SIGTERM));
  CHECK(!bench.prepared);
}

// --- several hosts ---

TEST_CASE_FIXTURE(Bench, "lead: the job ends when every host's work has, and members learn how") {
  Lead lead(context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&part] { return part.own_end().has_value(); });
    CHECK(payloads(b.heard, Message::drain).empty());
    b.ends(Outcome::exited(0));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this, lead)).success());
  CHECK(end().success());
  CHECK(payloads(heard, Message::drain) == std::vector<std::string>{ranks::grace_text({})});
}

TEST_CASE_FIXTURE(Bench, "lead: a member's failure ends every host, each with a grace") {
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    b.ends(Outcome::exited(3));
    co_await b.leave();
  };
  const job::Verdict verdict = run(lead, story(*this));
  CHECK(verdict.outcome == Outcome::exited(3));
  CHECK(verdict.host == "algo-2");
  CHECK(end() == verdict);
  CHECK(payloads(heard, Message::drain) == std::vector<std::string>{ranks::grace_text(200ms)});
  CHECK(lead.own_end()->outcome == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Bench,
                  "lead: a member that does not say that it is drained is waited for a while") {
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    b.ends(Outcome::exited(0));
    co_await b.until_heard(Message::end);
  };
  CHECK(run(lead, story(*this)).success());
}

TEST_CASE_FIXTURE(Bench, "lead: a member that disappears is lost, which is the verdict") {
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.prepared; });
    b.member.reset();
  };
  const job::Verdict verdict = run(lead, story(*this));
  CHECK(verdict.outcome.kind == Outcome::Kind::lost);
  CHECK(verdict.host == "algo-2");
  CHECK(verdict.process == "host");
}

TEST_CASE_FIXTURE(Bench, "lead: an invalid message of a member is a warning and ends nothing") {
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    for (const Message type :
         {Message::lines, Message::host_call, Message::exec_output, Message::exec_end,
          Message::outcome, Message::host_end, Message::rank_hello})
      b.post(type, "x");
    // Nobody asked for it.
    for (const Message type : {Message::preflight_facts, Message::preflight_ways})
      b.post(type, "x");
    b.ends(Outcome::exited(0));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this)).success());
  const std::string text = said.text();
  const std::string warning = "test: warning: ";
  std::size_t count = 0;
  for (std::size_t at = text.find(warning); at != std::string::npos;
       at = text.find(warning, at + 1))
    ++count;
  CHECK(count == 7);
  CHECK(said.has("algo-2: unexpected message 20"));
}

TEST_CASE("lead: a failure before a stop is the verdict, even if others could follow") {
  const auto ends_with = [](const Outcome& outcome) {
    Bench bench;
    bench.work = program(endless);
    Lead lead(bench.context());
    const auto story = [outcome](Bench& b) -> loop::Task<> {
      co_await b.join();
      co_await b.until([&b] { return b.lines() == "ready\n"; });
      b.ends(outcome);
      b.post(Message::signal, ranks::signal_text(SIGTERM, 20s));
      co_await b.leave();
    };
    return bench.run(lead, story(bench));
  };
  const job::Verdict verdict = ends_with(Outcome::exited(3));
  CHECK(verdict.outcome == Outcome::exited(3));
  CHECK(verdict.host == "algo-2");
  // A sender that signals all processes of a job may reach others first.
  CHECK(ends_with(Outcome::signaled(SIGTERM)).outcome == Outcome::stopped(SIGTERM));
}

TEST_CASE_FIXTURE(Bench, "lead: a stop of one host stops all hosts, and two stops count as one") {
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    b.post(Message::signal, ranks::signal_text(SIGINT, 20s));
    co_await b.until_heard(Message::signal);
    part.stop(SIGTERM);  // A platform signals every host.
    b.ends(Outcome::signaled(SIGTERM));
    co_await b.leave();
  };
  const job::Verdict verdict = run(lead, story(*this, lead));
  CHECK(verdict.outcome == Outcome::stopped(SIGINT));
  CHECK(payloads(heard, Message::signal) ==
        std::vector<std::string>{ranks::signal_text(SIGTERM, 20s)});
  CHECK(lead.own_end()->outcome == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Bench,
                  "lead: a stop ends the job when the grace is over, even if hosts still work") {
  options.stop_grace = 100ms;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    part.stop(SIGTERM);
    co_await b.leave();
  };
  CHECK(run(lead, story(*this, lead)).outcome == Outcome::stopped(SIGTERM));
}

TEST_CASE_FIXTURE(Bench, "lead: members' lines appear in the leader's output, and none is lost") {
  Pipe pipe = *make_pipe();
  const Fd own(::dup(STDOUT_FILENO));
  ::dup2(pipe.write.get(), STDOUT_FILENO);
  output.emplace(loop, std::nullopt);  // An output opens what standard output is now.
  ::dup2(own.get(), STDOUT_FILENO);
  constexpr std::size_t all = 40u * 100'000;
  Lead lead(context());
  const auto story = [](Bench& b, int from) -> loop::Task<> {
    co_await b.join();
    for (int i = 0; i < 40; ++i) {
      const job::Lines lines{.rank = 1,
                             .bytes = std::string(99'999, static_cast<char>('a' + i % 26)) + "\n"};
      b.post(Message::lines, job::encode(lines));
    }
    co_await b.until([&b] { return b.output->behind(); });
    std::string got;
    std::string piece(1u << 16, '\0');
    loop::Watch watch(b.loop, from);
    while (got.size() < all) {
      const bool more = co_await watch.readable();
      REQUIRE(more);
      const ssize_t count = ::read(from, piece.data(), piece.size());
      if (count > 0) got.append(piece, 0, static_cast<std::size_t>(count));
    }
    bool in_order = true;
    for (std::size_t i = 0; i < 40; ++i)
      in_order = in_order && got[i * 100'000] == static_cast<char>('a' + i % 26);
    CHECK(in_order);
    b.ends(Outcome::exited(0));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this, pipe.read.get())).success());
}

// --- collective calls ---

TEST_CASE_FIXTURE(Bench, "lead: a call runs when all hosts have made it, and each is answered") {
  socket = true;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const launch::Call call = direct_call({"algo-1", "algo-2"}, "echo share");
    Operator caller(b, call);
    b.post(Message::host_call, launch::host_call_text({call.name, call.digest, ""}));
    co_await b.until_heard(Message::call_start);
    b.post(Message::call_done, "{}");
    co_await b.until_heard(Message::call_drain);
    b.post(Message::call_drained, "{}");
    const Frame answer = co_await caller.answer();
    CHECK(answer.type == type_of(Message::call_result));
    CHECK(launch::call_result_from(answer.payload)->verdict.success());
    co_await b.until_heard(Message::call_end);
    CHECK(
        launch::call_result_from(payloads(b.heard, Message::call_end).front())->verdict.success());
    b.ends(Outcome::exited(9));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this)).outcome == Outcome::exited(9));
  CHECK(lines() == "ready\nshare\n");
}

TEST_CASE_FIXTURE(Bench, "lead: a stop answers members that wait for this host's own call") {
  hold_work = true;
  Lead lead(context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.prepared; });
    b.post(Message::host_call, launch::host_call_text({"mpirun train.py", "digest", ""}));
    part.stop(SIGTERM);
    co_await b.until_heard(Message::call_end);
    b.ends(Outcome::stopped(SIGTERM));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this, lead)).outcome == Outcome::stopped(SIGTERM));
}

TEST_CASE_FIXTURE(Bench,
                  "lead: a caller that disappears before its answer fails the call everywhere") {
  socket = true;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const launch::Call call = direct_call({"algo-1", "algo-2", "algo-3"}, "exit 0");
    std::optional<Operator> caller(std::in_place, b, call);
    b.post(Message::host_call, launch::host_call_text({call.name, call.digest, ""}));
    loop::Timer moment(b.loop);
    co_await moment.after(100ms);
    caller.reset();
    co_await b.until_heard(Message::call_end);
    const std::string told = payloads(b.heard, Message::call_end).front();
    CHECK(launch::call_result_from(told)->verdict.outcome.text == "stopped before its call");
    b.ends(Outcome::exited(9));
    co_await b.leave();
  };
  run(lead, story(*this));
}

TEST_CASE_FIXTURE(Bench, "lead: a process of a member's share that fails is the call's end") {
  socket = true;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const launch::Call call = direct_call({"algo-1", "algo-2"}, "sleep 1000");
    Operator caller(b, call);
    b.post(Message::host_call, launch::host_call_text({call.name, call.digest, ""}));
    co_await b.until_heard(Message::call_start);
    b.post(Message::outcome, verdict_text("somebody", Outcome::signaled(SIGSEGV)));
    co_await b.until_heard(Message::call_drain);
    b.post(Message::call_drained, "{}");
    const Frame answer = co_await caller.answer();
    const job::Verdict verdict = launch::call_result_from(answer.payload)->verdict;
    CHECK(verdict.outcome == Outcome::signaled(SIGSEGV));
    CHECK(verdict.host == "algo-2");  // Whichever host reports it.
    b.ends(Outcome::exited(1));       // As the member's script does whose call failed.
    co_await b.leave();
  };
  // What the call found is the cause, not the script that ended because of it.
  CHECK(run(lead, story(*this)).outcome == Outcome::signaled(SIGSEGV));
}

TEST_CASE_FIXTURE(Bench, "lead: a rank of a member that its launcher restarts ends no call") {
  socket = true;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const launch::Call call = direct_call({"algo-1", "algo-2"}, "exit 0");
    Operator caller(b, call);
    b.post(Message::host_call, launch::host_call_text({call.name, call.digest, ""}));
    co_await b.until_heard(Message::call_start);
    job::Verdict failed;
    failed.rank = 1;
    failed.outcome = Outcome::signaled(SIGSEGV);
    b.post(Message::outcome, ranks::restart_text(failed));
    b.post(Message::call_done, "{}");
    co_await b.until_heard(Message::call_drain);
    b.post(Message::call_drained, "{}");
    const Frame answer = co_await caller.answer();
    CHECK(launch::call_result_from(answer.payload)->verdict.success());
    b.ends(Outcome::exited(9));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this)).outcome == Outcome::exited(9));
}

TEST_CASE_FIXTURE(Bench,
                  "lead: no call is accepted while the job ends, and a stop changes nothing") {
  socket = true;
  options.failure_grace = 20s;
  work = program("trap 'echo asked' TERM; echo ready; while :; do sleep 1000 & wait; done");
  Lead lead(context());
  const auto story = [](Bench& b, Lead& part) -> loop::Task<> {
    co_await b.join();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    b.ends(Outcome::exited(1));
    co_await b.until([&b] { return b.lines() == "ready\nasked\n"; });
    Operator caller(b, direct_call({"algo-1"}, "exit 0"));
    const Frame answer = co_await caller.answer();
    CHECK(answer.type == type_of(Message::failed));
    CHECK(answer.payload.find("the job is ending") != std::string::npos);
    part.stop(SIGTERM);
    b.host_run.stop(Duration());
    co_await b.leave();
  };
  CHECK(run(lead, story(*this, lead)).outcome == Outcome::exited(1));
}

TEST_CASE_FIXTURE(Alone, "lead: mpirun's agent gets the reason why no daemon starts") {
  socket = true;
  work = program(endless);
  Lead lead(context());
  const auto story = [](Alone& b, Lead& part) -> loop::Task<> {
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const auto channel = *loop::unix_connect(b.loop, b.host_run.socket_path());
    std::vector<Fd> fds;
    for (int i = 0; i < 2; ++i) fds.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    channel->post_with_fds(type_of(Message::agent_exec), R"({"host":"algo-1","text":"orted"})",
                           std::move(fds));
    const Result<Frame> answer = co_await channel->receive();
    REQUIRE(answer);
    CHECK(answer->type == type_of(Message::agent_end));
    CHECK(answer->payload == R"({"code":1,"error":"no launch is in progress"})");
    part.stop(SIGTERM);
  };
  run(lead, story(*this, lead));
}

}  // namespace
}  // namespace muster::calls
