#include "platform/life_cycle.h"

#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/testing.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;
using job::Outcome;
using job::Phase;

const TimePoint start{};

/// A life cycle under test: every step returns the actions as one line of text.
struct Story {
  explicit Story(LifeCycle::Options options)
      : hosts(options.hosts), cycle(std::move(options), start) {}
  explicit Story(int count) : Story(LifeCycle::Options{.hosts = job_hosts(count)}) {}

  static std::vector<std::string> job_hosts(int count) {
    std::vector<std::string> names;
    for (int i = 1; i <= count; ++i) names.push_back("algo-" + std::to_string(i));
    return names;
  }

  std::string phase(const char* host, Phase phase) {
    return record(host, job::Message::phase, encode(job::PhaseChange{phase, ""}));
  }
  void all(Phase to) {
    for (const std::string& host : hosts) phase(host.c_str(), to);
  }
  std::string word(const char* host, const job::Verdict& verdict) {
    return record(host, job::Message::verdict, to_text(job::to_json(verdict)));
  }
  std::string ends(const char* host, Outcome outcome, bool stopped = false) {
    return record(host, job::Message::outcome, encode(job::HostEnd{host, outcome, false, stopped}));
  }
  std::string steward(const char* host, Outcome outcome = Outcome::exited(0)) {
    return text(cycle.on_steward_end(host, std::move(outcome), wall(), now));
  }
  std::string started(const char* host) { return text(cycle.on_started(host, wall(), now)); }
  std::string stop() { return text(cycle.on_stop(wall(), now)); }
  std::string kill() { return text(cycle.on_kill(now)); }
  /// Lets time pass up to `at` as a driver would.
  std::string until(Duration at) {
    std::string told;
    while (cycle.next_deadline() && *cycle.next_deadline() <= start + at) {
      now = *cycle.next_deadline();
      told += text(cycle.on_time(wall(), now));
    }
    now = start + at;
    return told;
  }
  std::string record(const char* host, job::Message kind, std::string payload) {
    return text(cycle.on_record(host, {1, wall(), kind, std::move(payload)}, now));
  }
  UnixMillis wall() const { return std::chrono::duration_cast<UnixMillis>(now - start); }

  static std::string text(const Actions& actions) {
    std::string told;
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::say) told += action.line.status;
      if (action.kind == Action::Kind::stop)
        told += "stop " + action.host + " " + std::to_string(action.grace.count());
      if (action.kind == Action::Kind::kill) told += "kill " + action.host;
      if (action.kind == Action::Kind::destroy) told += "destroy " + action.host;
      told += "; ";
    }
    return told;
  }

  std::vector<std::string> hosts;
  TimePoint now = start;
  LifeCycle cycle;
};

job::Verdict rank_failed() {
  job::Verdict verdict;
  verdict.outcome = Outcome::exited(3);
  verdict.host = "algo-2";
  verdict.process = "rank 3";
  verdict.rank = 3;
  return verdict;
}

TEST_CASE("life cycle: a job is as far as its slowest host, and shows every status once") {
  Story job(2);
  CHECK(Story::text(job.cycle.begin(0ms)) == "Starting; Starting; ");
  CHECK(job.started("algo-1") == "");
  CHECK(job.started("algo-2") == "Starting; ");
  CHECK(job.phase("algo-1", Phase::downloading) == "");
  CHECK(job.phase("algo-2", Phase::downloading) == "Downloading; ");
  CHECK(job.phase("algo-2", Phase::training) == "");
  CHECK(job.phase("algo-1", Phase::training) == "Training; ");
  CHECK(job.word("algo-1", {}) == "");
  CHECK(job.phase("algo-2", Phase::uploading) == "");
  CHECK(job.ends("algo-2", Outcome::exited(0)) == "");
  CHECK(job.phase("algo-2", Phase::completed) == "");
  CHECK(job.steward("algo-2") == "");
  job.now += 2500ms;
  CHECK(job.phase("algo-1", Phase::uploading) == "Uploading; ");
  job.ends("algo-1", Outcome::exited(0));
  CHECK(!job.cycle.finished());
  CHECK(job.steward("algo-1") == "");
  REQUIRE(job.cycle.finished());
  const JobEnd end = job.cycle.end(job.wall());
  CHECK(end.status == JobEnd::Status::completed);
  CHECK(end.training_time == 3s);
  CHECK(end.last.status == "Completed");
}

TEST_CASE("life cycle: an event at an earlier time than the last ends the process") {
  Story job(1);
  job.now += 2s;
  job.started("algo-1");
  job.now -= 1s;
  CHECK(aborts([&] { job.phase("algo-1", Phase::training); }));
  CHECK(aborts([&] { job.steward("algo-1"); }));
  CHECK(aborts([&] { job.stop(); }));
  CHECK(aborts([&] { job.kill(); }));
}

TEST_CASE("life cycle: a job without hosts, or an end before all stewards', ends the process") {
  CHECK(aborts([] { Story job(0); }));
  Story job(2);
  job.steward("algo-1");
  CHECK(aborts([&] { static_cast<void>(job.cycle.end(0ms)); }));
  job.steward("algo-2");
  CHECK_FALSE(aborts([&] { static_cast<void>(job.cycle.end(0ms)); }));
}

TEST_CASE("life cycle: statuses carry SageMaker's messages") {
  Story job(1);
  Actions actions = job.cycle.begin(0ms);
  const auto add = [&actions](const Actions& more) {
    actions.insert(actions.end(), more.begin(), more.end());
  };
  add(job.cycle.on_started("algo-1", 0ms, job.now));
  for (const Phase phase : {Phase::downloading, Phase::training, Phase::uploading})
    add(job.cycle.on_record(
        "algo-1", {1, 0ms, job::Message::phase, encode(job::PhaseChange{phase, ""})}, job.now));
  std::string told;
  for (const Action& action : actions)
    told += action.line.status + " - " + action.line.message + "\n";
  CHECK(told ==
        "Starting - Starting the training job\n"
        "Starting - Launching requested ML instances\n"
        "Starting - Preparing the instances for training\n"
        "Downloading - Downloading input data\n"
        "Training - Training image download completed. Training in progress.\n"
        "Uploading - Uploading generated training model\n");
}

TEST_CASE("life cycle: a status never has an earlier time than the one before it") {
  Story job(1);
  const Actions begun = job.cycle.begin(10ms);
  const Actions started = job.cycle.on_started("algo-1", 9ms, job.now);  // By another's clock.
  REQUIRE(started.size() == 1);
  CHECK(started[0].line.time == begun.back().line.time);
}

TEST_CASE("life cycle: a phase that was skipped is shown on the way") {
  Story job(1);
  CHECK(job.phase("algo-1", Phase::training) == "Starting; Downloading; Training; ");
  CHECK(job.started("algo-1") == "");
}

TEST_CASE("life cycle: after a failure hosts end by themselves, or are killed") {
  Story job(3);
  job.all(Phase::training);
  job.until(5s);
  job.word("algo-1", rank_failed());
  job.phase("algo-1", Phase::uploading);
  job.ends("algo-1", Outcome::exited(1));
  job.steward("algo-1");
  CHECK(job.cycle.failed());
  CHECK(job.until(6900ms) == "");
  CHECK(job.until(7s) == "kill algo-2; kill algo-3; ");
  job.phase("algo-2", Phase::uploading);
  CHECK(job.until(8500ms) == "destroy algo-3; ");
  CHECK(job.until(60s) == "");
  job.ends("algo-2", Outcome::signaled(9));
  job.steward("algo-2");
  job.steward("algo-3", Outcome::signaled(9));
  REQUIRE(job.cycle.finished());
  const JobEnd end = job.cycle.end(job.wall());
  CHECK(end.status == JobEnd::Status::failed);
  CHECK(end.reason == "rank 3 on algo-2: exit code 3");
}

TEST_CASE("life cycle: the failure file that counts is that of the host that failed first") {
  Story job(2);
  job.all(Phase::training);
  for (const char* host : {"algo-1", "algo-2"}) {
    job::Verdict verdict = rank_failed();  // On algo-2; each host reports it with its own file.
    verdict.failure_file = std::string("why, of ") + host;
    job.word(host, verdict);
    job.ends(host, Outcome::exited(1));
    job.steward(host);
  }
  const JobEnd end = job.cycle.end(0ms);
  CHECK(end.reason == "rank 3 on algo-2: exit code 3");
  CHECK(end.failure_file == "why, of algo-2");
  CHECK(end.verdict.failure_file.empty());
}

TEST_CASE("life cycle: a host that keeps its results after a failure is given the time") {
  Story job(2);
  job.phase("algo-1", Phase::training);
  job.phase("algo-2", Phase::uploading);
  job.word("algo-2", rank_failed());
  CHECK(job.until(3s) == "kill algo-1; ");
  CHECK(job.until(600s).find("algo-2") == std::string::npos);
}

TEST_CASE("life cycle: a steward's death fails the job") {
  Story job(2);
  job.phase("algo-1", Phase::training);
  job.steward("algo-2", Outcome::signaled(9));
  CHECK(job.until(2s) == "kill algo-1; ");
  job.ends("algo-1", Outcome::signaled(9));
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).reason == "steward on algo-2: killed by SIGKILL");
}

TEST_CASE("life cycle: a stop gives the grace, then the steward's margin, then kills") {
  Story job(LifeCycle::Options{.hosts = Story::job_hosts(2), .grace = 10s});
  job.all(Phase::training);
  CHECK(job.stop() == "Stopping; stop algo-1 10000; stop algo-2 10000; ");
  CHECK(job.stop() == "");
  CHECK(job.until(12s) == "");
  job.ends("algo-1", Outcome::exited(143), true);
  job.steward("algo-1");
  CHECK(job.until(13s) == "kill algo-2; ");
  CHECK(job.until(15s) == "destroy algo-2; ");
  job.steward("algo-2", Outcome::signaled(9));
  const JobEnd end = job.cycle.end(0ms);
  CHECK(end.status == JobEnd::Status::stopped);
  CHECK(end.last.status == "Stopped");
}

TEST_CASE("life cycle: a second request kills now, also what keeps its results") {
  Story job(2);
  job.phase("algo-1", Phase::training);
  job.phase("algo-2", Phase::uploading);
  job.stop();
  CHECK(job.kill() == "kill algo-1; kill algo-2; ");
  CHECK(job.until(2s) == "destroy algo-1; ");
  CHECK(job.until(11s) == "destroy algo-2; ");
}

TEST_CASE("life cycle: a failure that was there before the stop stays the failure") {
  Story job(1);
  job.phase("algo-1", Phase::training);
  job.word("algo-1", rank_failed());
  job.stop();
  job.ends("algo-1", Outcome::exited(1), true);
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::failed);
}

TEST_CASE("life cycle: a program that ends well after a stop makes no completed job") {
  Story job(1);
  job.phase("algo-1", Phase::training);
  job.stop();
  job.word("algo-1", {});
  job.ends("algo-1", Outcome::exited(0), true);
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::stopped);
}

TEST_CASE("life cycle: the time limit stops the job once") {
  Story job(LifeCycle::Options{.hosts = Story::job_hosts(1), .run_time_max = 60s, .grace = 1s});
  job.phase("algo-1", Phase::training);
  CHECK(job.until(59s) == "");
  CHECK(job.until(61s) == "Stopping; stop algo-1 1000; ");
  CHECK(job.stop() == "");
  CHECK(job.until(64s) == "kill algo-1; ");
  job.ends("algo-1", Outcome::signaled(9), true);
  job.steward("algo-1");
  const JobEnd end = job.cycle.end(0ms);
  CHECK(end.status == JobEnd::Status::timed_out);
  CHECK(end.last.status == "MaxRuntimeExceeded");
  CHECK(status_name(end.status) == "Stopped");
}

TEST_CASE("life cycle: queue time does not count, and each reason is shown once") {
  Story job(LifeCycle::Options{.hosts = Story::job_hosts(2), .run_time_max = 60s, .grace = 1s});
  const auto queued = [&](const char* host, const char* reason) {
    return Story::text(job.cycle.on_queued(host, reason, job.wall()));
  };
  CHECK(queued("algo-1", "Resources") == "Starting; ");
  CHECK(queued("algo-2", "Resources") == "");
  CHECK(queued("algo-2", "Priority") == "Starting; ");
  CHECK(job.until(600s) == "");
  job.started("algo-1");
  CHECK(!job.cycle.next_deadline());
  job.until(700s);
  job.started("algo-2");
  CHECK(job.until(759s) == "");
  CHECK(job.until(760s) == "Stopping; stop algo-1 1000; stop algo-2 1000; ");
}

TEST_CASE("life cycle: the time to wait and run counts the queue, and ends the job there") {
  Story job(LifeCycle::Options{
      .hosts = Story::job_hosts(1), .run_time_max = 60s, .wait_max = 90s, .grace = 1s});
  static_cast<void>(job.cycle.on_queued("algo-1", "Resources", job.wall()));
  CHECK(job.until(89s) == "");
  CHECK(job.cycle.wait_left(job.now) == 1s);
  CHECK(job.until(90s) == "Stopping; stop algo-1 1000; ");
  CHECK(job.stop() == "");
  job.steward("algo-1", Outcome::signaled(15));
  const JobEnd end = job.cycle.end(0ms);
  CHECK(end.status == JobEnd::Status::waited_out);
  CHECK(end.last.status == "MaxWaitTimeExceeded");
  CHECK(status_name(end.status) == "Stopped");
}

TEST_CASE("life cycle: the time to wait and run ends also a job that runs, after a long wait") {
  Story job(LifeCycle::Options{
      .hosts = Story::job_hosts(1), .run_time_max = 60s, .wait_max = 90s, .grace = 1s});
  static_cast<void>(job.cycle.on_queued("algo-1", "Resources", job.wall()));
  job.until(80s);
  job.started("algo-1");
  job.phase("algo-1", Phase::training);
  CHECK(job.until(89s) == "");
  CHECK(job.until(90s) == "Stopping; stop algo-1 1000; ");
  job.ends("algo-1", Outcome::exited(143), true);
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).last.status == "MaxWaitTimeExceeded");
}

TEST_CASE("life cycle: the scheduler's own time limit is the cause, whatever hosts say of it") {
  Story job(LifeCycle::Options{.hosts = Story::job_hosts(2), .run_time_max = 60s});
  job.all(Phase::training);
  job.until(10s);
  const auto limit = [&](const char* host) {
    job.word(host, {.outcome = Outcome::stopped(15),
                    .host = host,
                    .process = "rank 0",
                    .last_lines = {},
                    .command = {}});
    job.ends(host, Outcome::exited(143), true);
    return Story::text(
        job.cycle.on_time_limit(host, "Slurm ended it at its time limit", job.wall(), job.now));
  };
  SUBCASE("before the job's own time is up: it fails, and says why") {
    limit("algo-1");
    limit("algo-2");
    REQUIRE(job.cycle.finished());
    const JobEnd end = job.cycle.end(0ms);
    CHECK(end.status == JobEnd::Status::failed);
    CHECK(end.taken == JobEnd::Taken::no);
    CHECK(end.reason == "host algo-1: Slurm ended it at its time limit");
  }
  SUBCASE("when it is up: as if the platform had stopped it") {
    job.now += 49s;
    limit("algo-1");
    limit("algo-2");
    REQUIRE(job.cycle.finished());
    CHECK(job.cycle.end(0ms).last.status == "MaxRuntimeExceeded");
  }
}

TEST_CASE("life cycle: a host that is gone ends the others, and is the cause") {
  Story job(2);
  job.all(Phase::training);
  job.now += 5s;
  const UnixMillis before = job.wall() - 1s;
  CHECK(Story::text(job.cycle.on_host_gone("algo-2", JobEnd::Taken::lost, "node n2 is down", before,
                                           job.now)) == "");
  CHECK(job.until(7s) == "kill algo-1; ");
  job.ends("algo-1", Outcome::signaled(9));
  job.steward("algo-1");
  REQUIRE(job.cycle.finished());
  CHECK(job.cycle.end(0ms).reason == "host algo-2: lost: node n2 is down");
  CHECK(job.cycle.end(0ms).taken == JobEnd::Taken::lost);
}

TEST_CASE("life cycle: a GPU that broke takes the job of the host that failed by it, no other's") {
  struct {
    const char* fails;
    job::Card card;
    JobEnd::Taken want;
  } const cases[] = {{"algo-1", job::Card::broken, JobEnd::Taken::no},
                     {"algo-2", job::Card::working, JobEnd::Taken::no},
                     {"algo-2", job::Card::memory_error, JobEnd::Taken::card_memory},
                     {"algo-2", job::Card::broken, JobEnd::Taken::card_broken}};
  for (const auto& [fails, card, want] : cases) {
    const std::string host = fails;
    CAPTURE(host);
    Story job(2);
    job.all(Phase::training);
    job.word("algo-1", {.outcome = Outcome::exited(1),
                        .host = fails,
                        .process = "rank 3",
                        .last_lines = {},
                        .command = {}});
    job.ends("algo-1", Outcome::exited(1));
    job::HostEnd end{"algo-2", Outcome::exited(1), false, false};
    end.overruns = {"GPU 3 fell off the bus (Xid 79): not your code"};
    end.card = card;
    job.record("algo-2", job::Message::outcome, job::encode(end));
    job.steward("algo-1");
    job.steward("algo-2");
    REQUIRE(job.cycle.finished());
    CHECK(job.cycle.end(0ms).taken == want);
    CHECK(job.cycle.end(0ms).reason ==
          std::string("rank 3 on ") + fails +
              ": exit code 1; algo-2: GPU 3 fell off the bus (Xid 79): not your code");
  }
}

TEST_CASE("life cycle: a job that an operator takes out of a scheduler's hands is stopped") {
  Story job(2);
  job.all(Phase::training);
  for (const char* host : {"algo-1", "algo-2"})
    static_cast<void>(
        job.cycle.on_steward_end(host, Outcome::stopped(SIGTERM), job.wall(), job.now));
  REQUIRE(job.cycle.finished());
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::stopped);
}

TEST_CASE(
    "life cycle: after a stop from outside, a host's report is not a failure and ends no host "
    "early") {
  Story job(2);
  job.all(Phase::training);
  job::Verdict asked;
  asked.outcome = Outcome::stopped(SIGTERM);
  job.word("algo-2", asked);
  job.ends("algo-2", Outcome::exited(143));
  CHECK(job.until(3s) == "");
  for (const char* host : {"algo-2", "algo-1"})
    static_cast<void>(
        job.cycle.on_steward_end(host, Outcome::stopped(SIGTERM), job.wall(), job.now));
  REQUIRE(job.cycle.finished());
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::stopped);
}

TEST_CASE("life cycle: a host that does not end after the leader's success is killed and named") {
  Story job(2);
  job.phase("algo-1", Phase::training);
  job.phase("algo-2", Phase::training);
  job.word("algo-1", {});
  job.ends("algo-1", Outcome::exited(0));
  job.steward("algo-1");
  CHECK(job.until(29s) == "");
  CHECK(job.until(30s) == "kill algo-2; ");
  job.ends("algo-2", Outcome::signaled(9));
  job.steward("algo-2");
  CHECK(job.cycle.end(0ms).reason == "host algo-2: killed: it did not exit in time");
}

TEST_CASE("life cycle: a journal that cannot be read fails the job") {
  Story job(1);
  job.phase("algo-1", Phase::training);
  CHECK(Story::text(job.cycle.on_journal_error("algo-1", fail(Errc::protocol, "wrong checksum"),
                                               job.now)) == "");
  CHECK(job.until(2s) == "kill algo-1; ");
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).reason == "journal on algo-1: wrong checksum");
}

TEST_CASE("life cycle: records that are not understood change nothing") {
  Story job(1);
  CHECK(job.record("algo-1", job::Message::phase, "{}") == "");
  CHECK(job.record("algo-1", job::Message::verdict, "nonsense") == "");
  CHECK(job.record("algo-1", job::Message::verdict, "[]") == "");
  CHECK(job.record("algo-1", job::Message::outcome, "[]") == "");
  CHECK(job.record("algo-1", job::Message::outcome, "nonsense") == "");
  CHECK(job.record("algo-1", job::Message::outcome, "{}") == "");
  CHECK(job.record("algo-1", job::Message::log, "nonsense") == "");
  CHECK(!job.cycle.failed());
}

TEST_CASE(
    "life cycle: a stop after the leader's success, or a kill after a failure, changes no end") {
  Story good(1);
  good.phase("algo-1", Phase::training);
  good.word("algo-1", {});
  good.stop();
  good.ends("algo-1", Outcome::exited(0), true);
  good.steward("algo-1");
  CHECK(good.cycle.end(0ms).status == JobEnd::Status::completed);
  Story bad(1);
  bad.phase("algo-1", Phase::training);
  bad.word("algo-1", rank_failed());
  CHECK(bad.kill() == "kill algo-1; ");
  bad.ends("algo-1", Outcome::signaled(9));
  bad.steward("algo-1");
  CHECK(bad.cycle.end(0ms).status == JobEnd::Status::failed);
  Story late(1);
  late.phase("algo-1", Phase::training);
  late.word("algo-1", {});
  late.kill();
  late.ends("algo-1", Outcome::signaled(9));
  late.steward("algo-1");
  CHECK(late.cycle.end(0ms).reason == "host algo-1: killed: it did not exit in time");
}

TEST_CASE("life cycle: hosts that are over are asked for nothing more") {
  Story job(2);
  job.all(Phase::training);
  job.ends("algo-2", Outcome::exited(0));
  job.steward("algo-2");
  CHECK(job.stop() == "Stopping; stop algo-1 30000; ");
  CHECK(job.kill() == "kill algo-1; ");
}

TEST_CASE("life cycle: when the leader reports success, hosts get time to upload") {
  Story job(3);
  job.all(Phase::training);
  job.phase("algo-2", Phase::uploading);
  job.ends("algo-3", Outcome::exited(0));
  job.steward("algo-3");
  job.word("algo-1", {});
  CHECK(job.until(30s) == "kill algo-1; ");
}

TEST_CASE("life cycle: a member's success does not end the job") {
  Story job(2);
  job.all(Phase::training);
  job.word("algo-2", {});
  CHECK(job.until(3600s) == "");
}

TEST_CASE("life cycle: a journal that breaks after the host's word leaves the word") {
  Story job(1);
  job.phase("algo-1", Phase::training);
  job.word("algo-1", rank_failed());
  static_cast<void>(
      job.cycle.on_journal_error("algo-1", fail(Errc::protocol, "wrong checksum"), job.now));
  job.steward("algo-1");
  CHECK(job.cycle.end(0ms).reason == "rank 3 on algo-2: exit code 3");
}

TEST_CASE("life cycle: a host that fails while others wait for their start fails the job") {
  Story job(2);
  static_cast<void>(job.cycle.on_queued("algo-1", "Resources", 0ms));
  static_cast<void>(job.cycle.on_queued("algo-2", "Resources", 0ms));
  job.steward("algo-1", Outcome::failed("node n1 is gone"));
  CHECK(job.until(2s) == "kill algo-2; ");
  job.steward("algo-2");
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::failed);
  CHECK(job.cycle.end(0ms).training_time == 0s);
}

TEST_CASE("life cycle: a host killed at the time limit shows no more progress") {
  Story job(LifeCycle::Options{.hosts = Story::job_hosts(1), .run_time_max = 60s, .grace = 1s});
  job.phase("algo-1", Phase::training);
  CHECK(job.until(64s) == "Stopping; stop algo-1 1000; kill algo-1; ");
  CHECK(job.steward("algo-1", Outcome::signaled(9)) == "");
  CHECK(job.cycle.end(0ms).status == JobEnd::Status::timed_out);
}

TEST_CASE("life cycle: statuses have SageMaker's names") {
  CHECK(status_name(JobEnd::Status::completed) == "Completed");
  CHECK(status_name(JobEnd::Status::failed) == "Failed");
  CHECK(status_name(JobEnd::Status::stopped) == "Stopped");
}

}  // namespace
}  // namespace muster::platform
