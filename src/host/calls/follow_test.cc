// A member's part of a job over real sockets and processes; the test is the job's leader.

#include "host/calls/follow.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <csignal>
#include <map>

#include "base/files/remove_tree.h"
#include "host/calls/testing.h"
#include "host/coordinate/leader.h"
#include "host/ranks/messages.h"
#include "net/sockets/unix.h"

namespace muster::calls {
namespace {

using namespace std::chrono_literals;
using job::Message;
using job::Outcome;
using job::type_of;

constexpr const char* endless = "echo ready; sleep 1000";

/// The member algo-2 of a leader that is reached by its name.
struct Bench : OneHost {
  explicit Bench(std::vector<std::string> hosts = {"localhost", "algo-2"})
      : OneHost("algo-2", "localhost", std::move(hosts)) {
    open_leader();
  }
  void open_leader(PreflightMode preflight = PreflightMode::off) {
    coordinate::Leader::Options mine;
    mine.start = start_text(preflight);
    mine.job = "job";
    mine.host = "localhost";
    mine.hosts = training.hosts;
    mine.port = 0;
    mine.key = key;
    mine.join_deadline = 20s;
    mine.heartbeat = 200ms;
    leader = *coordinate::Leader::open(loop, std::move(mine), log);
    options.port = leader->port();
    leader->on_frame([this](const std::string&, Frame frame) {
      heard.push_back({static_cast<Message>(frame.type), std::move(frame.payload)});
    });
  }
  loop::Task<> gather() {
    const Result<void> gathered = co_await leader->gather();
    REQUIRE(gathered);
  }
  void post(Message type, const std::string& payload) {
    leader->post("algo-2", type_of(type), payload);
  }
  void end(const Outcome& outcome) {
    leader->expect_end();
    post(Message::end, verdict_text("localhost", outcome));
  }
  loop::Task<> until_heard(Message type) {
    return until([this, type] { return !payloads(heard, type).empty(); });
  }
  /// The only message of its type, a verdict.
  job::Verdict verdict_in(Message type) const {
    const std::vector<std::string> all = payloads(heard, type);
    REQUIRE(all.size() == 1);
    return *job::verdict_from(*parse_json(all.front()));
  }

  std::unique_ptr<coordinate::Leader> leader;
  std::vector<Heard> heard;
};

// --- the job's course ---

TEST_CASE_FIXTURE(Bench, "follow: its work begins at the start; the leader's verdict is the end") {
  work = program("echo hello; exit 3");
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    CHECK(!b.prepared);
    co_await b.gather();
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::exited(7));
  };
  CHECK(run(follow, story(*this)).outcome == Outcome::exited(7));
  const job::Verdict own = verdict_in(Message::host_end);
  CHECK(own.outcome == Outcome::exited(3));
  CHECK(own.host == "algo-2");
  CHECK(follow.own_end() == own);
  CHECK(lines() == "hello\n");
  CHECK(payloads(heard, Message::lines).empty());  // The steward has them.
}

TEST_CASE_FIXTURE(Bench,
                  "follow: in a preflight it reports, and its work begins when that is over") {
  open_leader(PreflightMode::full);
  work = program("echo hello");
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until_heard(Message::preflight_facts);
    b.post(Message::preflight_pair, "no task");
    preflight::PairTask task;
    task.self = "algo-2";
    task.peer = "localhost";
    task.address = "127.0.0.1";
    task.hello = task.answer = std::string(preflight::token_bytes, 't');
    b.post(Message::preflight_pair, to_text(preflight::to_json(task)));
    co_await b.until_heard(Message::preflight_ways);
    CHECK(!b.prepared);
    for (int i = 0; i < 2; ++i) b.post(Message::preflight_over, "{}");
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::exited(0));
  };
  CHECK(run(follow, story(*this)).success());
  const Result<Json> facts = parse_json(payloads(heard, Message::preflight_facts).front());
  REQUIRE(facts);
  CHECK(facts->is_object());
  const Result<Json> ways = parse_json(payloads(heard, Message::preflight_ways).front());
  REQUIRE(ways);
  CHECK(ways->size() == 2);
  CHECK(lines() == "hello\n");
}

TEST_CASE("follow: a roll call that fails is the host's end, with the reason") {
  struct {
    const char* key;
    const char* want;
  } const cases[] = {{"short", "roll call: the job's key has 5 bytes, not 32"},
                     {"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww", "rejected this side's key"}};
  for (const auto& c : cases) {
    CAPTURE(c.want);
    Bench bench;
    bench.key = c.key;
    Follow follow(bench.context());
    const job::Verdict verdict = bench.run(follow);
    CHECK(verdict.outcome.kind == Outcome::Kind::failed);
    CHECK(verdict.outcome.text.find(c.want) != std::string::npos);
    CHECK(verdict.host == "algo-2");
    CHECK(!bench.prepared);
  }
}

TEST_CASE_FIXTURE(
    Bench, "follow: a leader that disappears is lost, and local programs end after their grace") {
  work = program(endless);
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    b.leader.reset();
  };
  const job::Verdict verdict = run(follow, story(*this));
  CHECK(verdict.outcome.kind == Outcome::Kind::lost);
  CHECK(verdict.host == "localhost");
  CHECK(follow.own_end()->outcome == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Bench, "follow: drained is reported when nothing is left, and not before") {
  work = program("trap 'echo asked' TERM; echo ready; while :; do sleep 1000 & wait; done");
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    b.post(Message::drain, ranks::grace_text(300ms));
    co_await b.until([&b] { return b.lines() == "ready\nasked\n"; });
    CHECK(payloads(b.heard, Message::drained).empty());
    co_await b.until_heard(Message::drained);
    CHECK(b.verdict_in(Message::host_end).outcome == Outcome::signaled(SIGKILL));
    b.end(Outcome::exited(0));
  };
  CHECK(run(follow, story(*this)).success());
}

TEST_CASE_FIXTURE(Bench, "follow: an invalid message of the leader is a warning") {
  work = program(endless);
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    b.post(Message::exec, "{}");
    b.post(Message::rank_hello, "{}");
    b.post(Message::call_start, "{}");  // No call was made here.
    b.post(Message::call_end, "{}");
    b.post(Message::exec, ranks::exec_text({5, "orted"}));
    co_await b.until_heard(Message::exec_end);
    const Result<ranks::ExecEnd> end =
        ranks::exec_end_from(payloads(b.heard, Message::exec_end).front());
    CHECK(end->id == 5);
    CHECK(end->outcome.text == "no launch is in progress");
    b.leader->expect_end();
    b.post(Message::end, "no verdict");
  };
  const job::Verdict verdict = run(follow, story(*this));
  CHECK(verdict.outcome.kind == Outcome::Kind::failed);
  CHECK(verdict.host == "algo-2");
  CHECK(said.has("leader: an exec message has no text"));
  CHECK(said.has("leader: unexpected message 20"));
}

// --- stops ---

TEST_CASE("follow: a stop before the job's start is reported to the leader, and the host ends") {
  Bench bench({"localhost", "algo-2", "algo-3"});
  Follow follow(bench.context());
  const auto story = [](Bench& b, Follow& part) -> loop::Task<> {
    co_await b.until([&b] { return b.said.has("joined localhost"); });
    part.stop(SIGTERM);
    co_await b.until_heard(Message::signal);
  };
  const job::Verdict verdict = bench.run(follow, story(bench, follow));
  CHECK(verdict.outcome == Outcome::stopped(SIGTERM));
  CHECK(verdict.host == "algo-2");
  CHECK(!bench.prepared);
}

TEST_CASE_FIXTURE(Bench, "follow: a stop is a stop of the whole job, a second one without grace") {
  work = program("trap 'echo asked' TERM; echo ready; while :; do sleep 1000 & wait; done");
  Follow follow(context());
  const auto story = [](Bench& b, Follow& part) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    part.stop(SIGINT);
    co_await b.until([&b] { return b.lines() == "ready\nasked\n"; });
    part.stop(SIGINT);
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::stopped(SIGINT));
  };
  CHECK(run(follow, story(*this, follow)).outcome == Outcome::stopped(SIGINT));
  CHECK(payloads(heard, Message::signal) ==
        std::vector<std::string>{ranks::signal_text(SIGINT, 20s), ranks::signal_text(SIGINT, {})});
  CHECK(verdict_in(Message::host_end).outcome == Outcome::signaled(SIGKILL));
}

TEST_CASE_FIXTURE(Bench, "follow: a stop of the leader's gives up work that has not begun") {
  hold_work = true;
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.prepared; });
    b.post(Message::signal, ranks::signal_text(SIGTERM, 20s));
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::stopped(SIGTERM));
  };
  run(follow, story(*this));
  CHECK(verdict_in(Message::host_end).outcome == Outcome::stopped(SIGTERM));
}

// --- collective calls ---

Work work_of(launch::Call call) {
  Work work;
  work.name = "train.py";
  work.call = std::move(call);
  return work;
}

TEST_CASE_FIXTURE(Bench,
                  "follow: its share of a call begins, ends and is drained as the leader says") {
  socket = true;
  work = work_of(direct_call({"localhost", "algo-2"}, "echo share; exit 5"));
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until_heard(Message::host_call);
    CHECK(launch::host_call_from(payloads(b.heard, Message::host_call).front())->digest ==
          "digest");
    CHECK(b.lines().empty());  // Not before all have called.
    b.post(Message::call_start, "{}");
    co_await b.until_heard(Message::call_done);
    CHECK(b.verdict_in(Message::outcome).outcome == Outcome::exited(5));
    b.post(Message::call_drain, ranks::grace_text({}));
    co_await b.until_heard(Message::call_drained);
    launch::CallResult result;
    result.verdict = b.verdict_in(Message::outcome);
    b.post(Message::call_end, launch::call_result_text(result));
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::exited(5));
  };
  run(follow, story(*this));
  CHECK(verdict_in(Message::host_end).outcome == Outcome::exited(5));
  CHECK(verdict_in(Message::host_end).process == "rank 0");
  CHECK(lines() == "share\n");
}

TEST_CASE_FIXTURE(Bench, "follow: programs that start after a stop are stopped like earlier ones") {
  struct {
    Duration grace;
    int want;
  } const cases[] = {{20s, SIGTERM}, {0s, SIGKILL}};
  for (const auto& c : cases) {
    CAPTURE(c.want);
    Bench bench;
    bench.socket = true;
    bench.work = work_of(direct_call({"localhost", "algo-2"}, "sleep 1000"));
    Follow follow(bench.context());
    const auto story = [](Bench& b, Duration grace) -> loop::Task<> {
      co_await b.gather();
      co_await b.until_heard(Message::host_call);
      b.post(Message::signal, ranks::signal_text(SIGTERM, grace));
      b.post(Message::call_start, "{}");
      co_await b.until_heard(Message::call_done);
      b.end(Outcome::stopped(SIGTERM));
    };
    bench.run(follow, story(bench, c.grace));
    CHECK(bench.verdict_in(Message::outcome).outcome == Outcome::signaled(c.want));
  }
}

TEST_CASE_FIXTURE(Bench, "follow: without a steward lines of its ranks go to the leader") {
  output.emplace(loop, std::nullopt);
  socket = true;
  work = work_of(direct_call({"localhost", "algo-2"}, "echo hello; echo there >&2"));
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until_heard(Message::host_call);
    b.post(Message::call_start, "{}");
    co_await b.until_heard(Message::call_done);
    b.end(Outcome::exited(0));
  };
  CHECK(run(follow, story(*this)).success());
  std::map<job::Stream, std::string> text;
  for (const std::string& payload : payloads(heard, Message::lines)) {
    const job::Lines lines = *job::lines_from(payload);
    CHECK(lines.rank == 0);
    text[lines.stream] += lines.bytes;
  }
  CHECK(text[job::Stream::out] == "hello\n");
  CHECK(text[job::Stream::err] == "there\n");
}

TEST_CASE_FIXTURE(Bench, "follow: an answer that cannot be read fails the call") {
  socket = true;
  work = work_of(direct_call({"localhost", "algo-2"}, "true"));
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until_heard(Message::host_call);
    b.post(Message::call_end, "no result");
    co_await b.until_heard(Message::host_end);
    b.end(Outcome::exited(1));
  };
  run(follow, story(*this));
  CHECK(verdict_in(Message::host_end).outcome.kind == Outcome::Kind::failed);
}

/// The daemon of a launcher, for tests: a script of its name.
struct Daemons {
  Daemons() {
    REQUIRE(write_file(folder + "/orted", "#!/bin/sh\necho map\necho \"daemon $1\" >&2\nexit 3\n",
                       0700));
  }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;
  ~Daemons() { static_cast<void>(remove_tree(folder)); }
  std::string folder = *make_private_folder("/tmp", "muster-follow-");
};

TEST_CASE_FIXTURE(Bench,
                  "follow: a launcher's daemon runs here, its lines and end go to the leader") {
  const Daemons daemons;
  socket = true;
  launch::Call call = direct_call({"localhost", "algo-2"}, "");
  call.kind = launch::Call::Kind::mpi;
  call.programs.clear();
  call.rank.command = shell("true");
  call.rank.command.env["PATH"] = daemons.folder + ":/usr/bin:/bin";
  work = work_of(call);
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until_heard(Message::host_call);
    b.post(Message::call_start, "{}");
    b.post(Message::exec, ranks::exec_text({1, "orted one"}));
    b.post(Message::exec, ranks::exec_text({2, "rm -rf /"}));
    b.post(Message::exec, ranks::exec_text({3, "/none/orted"}));
    co_await b.until([&b] {
      return payloads(b.heard, Message::exec_end).size() == 3 &&
             !payloads(b.heard, Message::exec_output).empty();
    });
    b.end(Outcome::exited(0));
  };
  run(follow, story(*this));
  const std::vector<std::string> said_by = payloads(heard, Message::exec_output);
  REQUIRE(said_by.size() == 1);
  CHECK(job::lines_from(said_by.front())->rank == 1);
  CHECK(job::lines_from(said_by.front())->bytes == "daemon one\n");
  std::map<int, Outcome> ends;
  for (const std::string& text : payloads(heard, Message::exec_end))
    ends[ranks::exec_end_from(text)->id] = ranks::exec_end_from(text)->outcome;
  CHECK(ends[1] == Outcome::exited(3));
  CHECK(ends[2].text.find("only orted") != std::string::npos);
  CHECK(ends[3].text.find("/none/orted") != std::string::npos);
}

TEST_CASE_FIXTURE(Bench,
                  "follow: one call at a time, and the leader learns of a caller that disappears") {
  socket = true;
  work = program(endless);
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const std::string packed = launch::pack(direct_call({"localhost", "algo-2"}, "true"));
    std::unique_ptr<loop::UnixChannel> first =
        *loop::unix_connect(b.loop, b.host_run.socket_path());
    first->post(type_of(Message::call), packed);
    co_await b.until_heard(Message::host_call);
    const auto second = *loop::unix_connect(b.loop, b.host_run.socket_path());
    second->post(type_of(Message::call), packed);
    const Result<Frame> refused = co_await second->receive();
    REQUIRE(refused);
    CHECK(refused->type == type_of(Message::failed));
    CHECK(refused->payload.find("run train.py is already running on this host") !=
          std::string::npos);
    first.reset();
    co_await b.until_heard(Message::outcome);
    CHECK(b.verdict_in(Message::outcome).outcome.text == "stopped before its call");
    b.end(Outcome::exited(0));
  };
  CHECK(run(follow, story(*this)).success());
}

TEST_CASE_FIXTURE(Bench, "follow: mpirun's agent is refused, which has no business here") {
  socket = true;
  work = program(endless);
  Follow follow(context());
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.gather();
    co_await b.until([&b] { return b.lines() == "ready\n"; });
    const auto agent = *loop::unix_connect(b.loop, b.host_run.socket_path());
    std::vector<Fd> fds;
    for (int i = 0; i < 2; ++i) fds.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    agent->post_with_fds(type_of(Message::agent_exec), R"({"host":"algo-2","text":"orted"})",
                         std::move(fds));
    const Result<Frame> answer = co_await agent->receive();
    REQUIRE(answer);
    CHECK(answer->payload == R"({"code":1,"error":"mpirun runs only on the leader"})");
    b.end(Outcome::exited(0));
  };
  run(follow, story(*this));
}

}  // namespace
}  // namespace muster::calls
