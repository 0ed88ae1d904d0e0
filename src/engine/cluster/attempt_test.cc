#include "engine/cluster/attempt.h"

#include <doctest/doctest.h>

#include <csignal>

#include "base/testing.h"
#include "base/text.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;
using engine::Event;
using Kind = Action::Kind;

std::string text_of(const Event& event) {
  constexpr const char* names[] = {"queued", "started", "health", "ended", "lost", "preempted"};
  std::string text = event.host + " " + names[static_cast<int>(event.kind)];
  if (!event.text.empty()) text += ": " + event.text;
  if (event.kind == Event::Kind::started) text += " on " + event.node + " " + event.address;
  if (event.kind == Event::Kind::ended) text += ", " + job::describe(event.outcome);
  if (event.time_limit) text += " <time limit>";
  return text;
}

std::string text_of(const Actions& actions) {
  constexpr const char* names[] = {"deliver", "begin", "stop", "end",
                                   "give",    "done",  "look", "cancel"};
  std::vector<std::string> texts;
  for (const Action& action : actions) {
    std::string text =
        action.kind == Kind::tell ? text_of(action.event) : names[static_cast<int>(action.kind)];
    if (action.kind != Kind::tell && !action.host.empty()) text += " " + action.host;
    if (action.kind == Kind::stop) text += " " + std::to_string(action.grace.count());
    texts.push_back(std::move(text));
  }
  return join(texts, "; ");
}

/// An attempt of two hosts, its time, and what is done to it.
struct Story {
  explicit Story(std::vector<HostState> hosts = {{.name = "algo-1"}, {.name = "algo-2"}},
                 bool delivered = false, bool holds = false)
      : attempt(1, std::move(hosts), delivered, {}, TimePoint(), holds) {}

  std::string slurm(const std::string& state, const std::string& reason = "None") {
    return text_of(attempt.on_queue(slurm::QueuedJob{.id = "7", .state = state, .reason = reason},
                                    wall(), now));
  }
  std::string joined(const std::string& host) {
    const std::string number = host.substr(5);
    return text_of(attempt.on_joined(host, "node" + number, "10.0.0." + number, wall()));
  }
  std::string back(const std::string& host) { return text_of(attempt.on_back(host, wall())); }
  std::string ended(const std::string& host, job::Outcome outcome = job::Outcome::exited(0)) {
    return text_of(attempt.on_ended(host, std::move(outcome), wall(), now));
  }
  std::string given(const std::string& host) { return text_of(attempt.on_given(host, "")); }
  std::string silent(const std::string& host) {
    return text_of(attempt.on_silent(host, wall(), now));
  }
  std::string until(Duration time) {
    now = TimePoint() + time;
    return text_of(attempt.on_time(wall(), now));
  }
  UnixMillis wall() const {
    return UnixMillis(1000) + std::chrono::duration_cast<UnixMillis>(now - TimePoint());
  }
  /// Both hosts run.
  void run() {
    CHECK(slurm("RUNNING") == "deliver");
    CHECK(text_of(attempt.on_delivered({}, wall(), now)).empty());
    CHECK(joined("algo-2").empty());
    CHECK(joined("algo-1") ==
          "algo-1 started on node1 10.0.0.1; algo-2 started on node2 10.0.0.2; begin");
  }

  Attempt attempt;
  TimePoint now{};
};

TEST_CASE("attempt: from the queue to the last result") {
  Story job;
  CHECK(job.slurm("PENDING", "Resources") ==
        "algo-1 queued: nodes are not free yet (Resources); "
        "algo-2 queued: nodes are not free yet (Resources)");
  CHECK(job.slurm("PENDING", "Resources").empty());
  job.run();
  CHECK(job.slurm("RUNNING").empty());
  CHECK(!job.attempt.moves());
  CHECK(job.ended("algo-1") == "give algo-1; algo-1 ended, exit code 0");
  CHECK(job.ended("algo-2", job::Outcome::exited(1)) == "give algo-2; algo-2 ended, exit code 1");
  CHECK(job.attempt.over());
  CHECK(!job.attempt.settled());
  CHECK(job.given("algo-1") == "done algo-1");
  CHECK(job.given("algo-2") == "done algo-2");  // And no scancel: the step ends by itself.
  CHECK(job.attempt.settled());
  CHECK(!job.attempt.next_deadline());
}

TEST_CASE("attempt: an event at an earlier time than the last ends the process") {
  Story job;
  job.until(2s);
  CHECK(aborts([&] { job.until(1s); }));
  job.now = TimePoint() + 1s;
  CHECK(aborts([&] { job.slurm("RUNNING"); }));
  CHECK(aborts([&] { job.ended("algo-1"); }));
}

TEST_CASE("attempt: a link that breaks and reopens before the start keeps its node known") {
  Story job;
  job.slurm("RUNNING");
  CHECK(job.joined("algo-1").empty());
  CHECK(job.silent("algo-1") == "look");
  CHECK(job.back("algo-1").empty());
  CHECK(job.joined("algo-2") ==
        "algo-1 started on node1 10.0.0.1; algo-2 started on node2 10.0.0.2; begin");
}

TEST_CASE("attempt: a host that is stopped before all are there is ended, the others begin") {
  const std::string begun = "end algo-2; algo-1 started on node1 10.0.0.1; end algo-2; begin";
  for (const char* first : {"algo-1", "algo-2"}) {
    CAPTURE(first);
    Story job;
    job.slurm("RUNNING");
    CHECK(text_of(job.attempt.stop("algo-2", 60s, job.wall())) ==
          "algo-2 ended, killed by SIGTERM");
    if (first == std::string("algo-1")) {
      CHECK(job.joined("algo-1").empty());
      CHECK(job.joined("algo-2") == begun);
    } else {
      CHECK(job.joined("algo-2") == "end algo-2");
      CHECK(job.silent("algo-2") == "look");
      CHECK(job.joined("algo-1") == "algo-1 started on node1 10.0.0.1; end algo-2; begin");
    }
    CHECK(job.ended("algo-1") == "give algo-1; algo-1 ended, exit code 0");
    CHECK(job.given("algo-1") == "done algo-1; cancel");
  }
}

TEST_CASE("attempt: with spares nodes are kept where a host was lost, and let go of where not") {
  const std::vector<HostState> hosts{{.name = "algo-1"}, {.name = "algo-2"}};
  Story well(hosts, false, true);
  well.run();
  well.ended("algo-1");
  CHECK(well.given("algo-1").empty());
  well.ended("algo-2");
  CHECK(well.given("algo-2") == "done algo-1; done algo-2");
  Story job(hosts, false, true);
  job.run();
  CHECK(job.silent("algo-2") == "look");
  CHECK(job.ended("algo-1", job::Outcome::exited(1)) == "give algo-1; algo-1 ended, exit code 1");
  CHECK(job.given("algo-1").empty());
  CHECK(text_of(job.attempt.destroy("algo-2", job.wall(), job.now)) ==
        "end algo-2; algo-2 lost: its node does not respond; end algo-2");
  CHECK(job.attempt.over());
  CHECK(job.attempt.lost_any());
  CHECK(job.attempt.settled());
}

TEST_CASE("attempt: with spares a steward that somebody killed is a host that is lost") {
  const job::Outcome killed = job::Outcome::signaled(SIGKILL);
  const std::vector<HostState> hosts{{.name = "algo-1"}, {.name = "algo-2"}};
  Story job(hosts, false, true);
  job.run();
  CHECK(job.ended("algo-2", killed) == "give algo-2; algo-2 lost: its steward was killed");
  job.attempt.stop("algo-1", 0ms, job.wall());
  CHECK(job.ended("algo-1", killed).starts_with("give algo-1; algo-1 ended"));
  Story without;
  without.run();
  CHECK(without.ended("algo-2", killed).starts_with("give algo-2; algo-2 ended"));
}

TEST_CASE("attempt: a stop takes what waits out of the queue") {
  Story job;
  job.slurm("PENDING", "Priority");
  CHECK(text_of(job.attempt.stop("algo-1", 5s, job.wall())) == "algo-1 ended, killed by SIGTERM");
  CHECK(text_of(job.attempt.stop("algo-2", 5s, job.wall())) ==
        "algo-2 ended, killed by SIGTERM; cancel");
  CHECK(job.slurm("RUNNING").empty());
}

TEST_CASE("attempt: running hosts are stopped by their links, also by a reopened one") {
  Story job;
  job.run();
  CHECK(job.silent("algo-2") == "look");
  CHECK(text_of(job.attempt.stop("algo-2", 5s, job.wall())) == "stop algo-2 5000");
  CHECK(job.joined("algo-2").empty());  // The link keeps what is asked of it.
  CHECK(job.ended("algo-2") == "give algo-2; algo-2 ended, exit code 0");
}

TEST_CASE("attempt: Slurm's word counts where a link is silent, and not before") {
  Story job;
  job.run();
  CHECK(job.silent("algo-2") == "look");
  job.now += 3s;
  CHECK(job.slurm("NODE_FAIL", "None") ==
        "algo-2 lost: InternalServerError: Slurm lost one of the job's nodes; end algo-2");
  CHECK(job.attempt.states()[1].end->time == UnixMillis(1000));  // When it was heard of last.
  CHECK(!job.attempt.over());
  CHECK(job.ended("algo-1") == "give algo-1; algo-1 ended, exit code 0");
  CHECK(job.given("algo-1") == "done algo-1");
  CHECK(job.attempt.settled());
  CHECK(job.joined("algo-2") == "end algo-2");  // A stray comes back.
}

TEST_CASE("attempt: a link that stays open has its time to say more than Slurm") {
  Story job;
  job.run();
  CHECK(job.slurm("CANCELLED by 1000").empty());
  CHECK(job.until(9s).empty());
  CHECK(job.until(10s).find("algo-1 ended: cancelled in Slurm by user 1000, killed by SIGTERM: "
                            "stopped on request") != std::string::npos);
  CHECK(job.attempt.settled());
}

TEST_CASE("attempt: an end after somebody's SIGTERM waits for Slurm's word of whose it was") {
  struct {
    const char* state;
    const char* want;
  } const cases[] = {
      {"PREEMPTED",
       "algo-1 preempted: CapacityError: preempted by Slurm for a higher-priority job"},
      {"CANCELLED by 0",
       "algo-1 ended: cancelled in Slurm by user 0, killed by SIGTERM: stopped on request"},
      {"NODE_FAIL", "algo-1 lost: InternalServerError: Slurm lost one of the job's nodes"},
      {"TIMEOUT", "algo-1 ended, reached its time limit in Slurm <time limit>"},
      {"COMPLETED", "algo-1 ended, exit code 0"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.state);
    Story job({{.name = "algo-1"}});
    job.slurm("RUNNING");
    job.joined("algo-1");
    CHECK(text_of(job.attempt.on_signalled("algo-1")) == "look");
    CHECK(job.ended("algo-1") == "give algo-1");
    CHECK(job.given("algo-1") == "done algo-1");
    CHECK(job.slurm(c.state).find(c.want) != std::string::npos);
    CHECK(job.attempt.settled());
  }
  Story job({{.name = "algo-1"}});
  job.slurm("RUNNING");
  job.joined("algo-1");
  static_cast<void>(job.attempt.on_signalled("algo-1"));
  job.ended("algo-1");
  CHECK(job.until(10s) == "algo-1 ended, exit code 0");  // Slurm says nothing.

  Story taken({{.name = "algo-1"}});
  taken.slurm("RUNNING");
  taken.joined("algo-1");
  static_cast<void>(taken.attempt.on_signalled("algo-1"));
  taken.ended("algo-1");
  CHECK(text_of(taken.attempt.on_preempted()).find("algo-1 preempted") == 0);

  Story both;
  both.run();
  static_cast<void>(both.attempt.on_signalled("algo-1"));
  CHECK(both.ended("algo-2") == "give algo-2");  // Since algo-1 ended; its own signal comes late.
  CHECK(both.ended("algo-1") == "give algo-1");
  const std::string told = text_of(both.attempt.on_preempted());
  for (const char* host : {"algo-1 preempted", "algo-2 preempted"})
    CHECK(told.find(host) != std::string::npos);
}

TEST_CASE("attempt: a steward that does not end is given up") {
  Story job;
  job.run();
  CHECK(text_of(job.attempt.destroy("algo-1", job.wall(), job.now)) == "end algo-1");
  CHECK(job.silent("algo-1") == "algo-1 ended, killed by SIGKILL; end algo-1");
  CHECK(text_of(job.attempt.destroy("algo-2", job.wall(), job.now)) == "end algo-2");
  CHECK(job.until(3s) == "algo-2 lost: its node does not respond; end algo-2; cancel");
}

TEST_CASE("attempt: a node without a link is lost in the end, whatever Slurm says") {
  Story job;
  job.run();
  job.silent("algo-2");
  CHECK(job.slurm("RUNNING").empty());
  CHECK(job.until(299s).empty());
  CHECK(job.until(300s) == "algo-2 lost: its node does not respond; end algo-2");
}

TEST_CASE("attempt: a failed delivery, or stewards that do not join, end it") {
  Story brought;
  brought.slurm("RUNNING");
  CHECK(text_of(brought.attempt.on_delivered(fail(Errc::system, "File exists"), brought.wall(),
                                             brought.now)) ==
        "algo-1 lost: the job could not be copied to its nodes: File exists; algo-2 lost: the job "
        "could "
        "not be copied to its nodes: File exists; cancel");
  Story missing;
  missing.slurm("RUNNING");
  static_cast<void>(missing.attempt.on_delivered({}, missing.wall(), missing.now));
  missing.joined("algo-1");
  CHECK(missing.until(119s).empty());
  CHECK(missing.until(120s) ==
        "algo-1 lost: no steward connected for algo-2; algo-2 lost: no steward connected for "
        "algo-2; cancel");
}

TEST_CASE(
    "attempt: if Slurm ends a job during its delivery, Slurm's word is the reason, if it comes") {
  const Result<void> over =
      fail(Errc::system, "Slurm job 16 lookup error: Job/step already completing or completed");
  Story told({{.name = "algo-1"}});
  told.slurm("RUNNING");
  CHECK(text_of(told.attempt.on_delivered(over, told.wall(), told.now)) == "look");
  CHECK(told.slurm("NODE_FAIL", "its prolog failed").find("prolog failed") != std::string::npos);
  CHECK(told.until(20s).empty());
  Story untold({{.name = "algo-1"}});
  untold.slurm("RUNNING");
  static_cast<void>(untold.attempt.on_delivered(over, untold.wall(), untold.now));
  CHECK(untold.until(10s).starts_with(
      "algo-1 lost: the job could not be copied to its nodes: Slurm"));
}

TEST_CASE("attempt: the reason for missing results is kept for later callers") {
  Story job({{.name = "algo-1"}});
  job.slurm("RUNNING");
  job.joined("algo-1");
  job.ended("algo-1");
  CHECK(text_of(job.attempt.on_given("algo-1", "No space left on device")) ==
        "done algo-1; cancel");
  CHECK(job.attempt.settled());
  CHECK(job.attempt.states()[0].not_given == "No space left on device");
}

TEST_CASE(
    "attempt: a job that Slurm holds since a node could not start it is lost, and waits no more") {
  Story job;
  job.slurm("PENDING", "Resources");
  const std::string lost = job.slurm("PENDING", "launch failed requeued held");
  CHECK(lost.starts_with("algo-1 lost: held: a node could not start it"));
  CHECK(lost.ends_with("cancel"));
  CHECK(job.attempt.over());
}

TEST_CASE("attempt: a batch that Slurm would start a second time is cancelled") {
  Story job;
  job.run();
  job.silent("algo-1");
  job.silent("algo-2");
  CHECK(job.slurm("PENDING", "BeginTime") ==
        "algo-1 lost: Slurm restarted the job; end algo-1; algo-2 lost: Slurm restarted the job; "
        "end algo-2; "
        "cancel");
}

TEST_CASE("attempt: a job that Slurm does not know is lost, but not one that it took just now") {
  Story job;
  CHECK(text_of(job.attempt.on_queue({}, job.wall(), job.now)).empty());
  job.now += 21s;
  CHECK(text_of(job.attempt.on_queue({}, job.wall(), job.now)) ==
        "algo-1 lost: Slurm no longer knows the job; "
        "algo-2 lost: Slurm no longer knows the job");
}

TEST_CASE("attempt: a later engine repeats that hosts may begin") {
  const Event started{.kind = Event::Kind::started, .host = "algo-1", .node = "node1"};
  Story job({{.name = "algo-1", .node = "node1", .started = started},
             {.name = "algo-2", .node = "node2", .started = started}},
            true);
  CHECK(job.joined("algo-1").empty());
  CHECK(job.joined("algo-2") == "begin");
  job.silent("algo-2");
  CHECK(job.joined("algo-2").empty());
}

TEST_CASE("attempt: a later engine continues where the last one was") {
  const Event started{.kind = Event::Kind::started, .host = "algo-1", .node = "node1"};
  const Event ended{.kind = Event::Kind::ended, .host = "algo-2"};
  Event other = started;
  other.host = "algo-2";
  Story job({{.name = "algo-1", .node = "node1", .started = started},
             {.name = "algo-2", .node = "node1", .started = other, .end = ended}},
            true);
  CHECK(job.attempt.present().size() == 3);
  CHECK(job.slurm("RUNNING").empty());
  CHECK(job.joined("algo-1").empty());
  CHECK(job.joined("algo-2").empty());
  CHECK(job.ended("algo-2") == "give algo-2");
  CHECK(job.given("algo-2") == "done algo-2");
  CHECK(job.ended("algo-1") == "give algo-1; algo-1 ended, exit code 0");
}

TEST_CASE("attempt: edges of the delivery") {
  const std::string restarted =
      "algo-1 lost: Slurm restarted the job; algo-2 lost: Slurm restarted the job; cancel";
  Story job;
  CHECK(job.slurm("PENDING", "Resources").starts_with("algo-1 queued"));
  CHECK(job.slurm("RUNNING") == "deliver");
  CHECK(job.slurm("RUNNING").empty());
  SUBCASE("delivering: it is not to wait again") {
    CHECK(job.slurm("PENDING", "BeginTime") == restarted);
  }
  SUBCASE("delivered: likewise, and nothing is brought twice") {
    static_cast<void>(job.attempt.on_delivered({}, job.wall(), job.now));
    CHECK(job.slurm("RUNNING").empty());
    CHECK(job.slurm("PENDING", "BeginTime") == restarted);
  }
  SUBCASE("delivered by an earlier engine") {
    Story later({{.name = "algo-1"}, {.name = "algo-2"}}, true);
    CHECK(later.slurm("RUNNING").empty());
    CHECK(later.slurm("PENDING", "BeginTime") == restarted);
  }
}

TEST_CASE("attempt: edges of what Slurm shows") {
  Story job({{.name = "algo-1"}});
  const auto no_row = [&] { return text_of(job.attempt.on_queue({}, job.wall(), job.now)); };
  const std::string unknown = "algo-1 lost: Slurm no longer knows the job";
  SUBCASE("unseen to over, by time") {
    CHECK(no_row().empty());
    job.now += 21s;
    CHECK(no_row() == unknown);
  }
  SUBCASE("shown to over: at once") {
    job.slurm("PENDING", "Resources");
    CHECK(no_row() == unknown);
    CHECK(job.slurm("RUNNING").empty());
  }
  SUBCASE("unseen to over: by its last word") {
    CHECK(job.slurm("FAILED").starts_with("algo-1 lost"));
    CHECK(job.slurm("RUNNING").empty());
  }
  SUBCASE("to cancelled, once") {
    CHECK(text_of(job.attempt.stop("algo-1", 1s, job.wall())) ==
          "algo-1 ended, killed by SIGTERM; cancel");
    CHECK(text_of(job.attempt.on_given("algo-1", "no")) == "done algo-1");
    CHECK(job.slurm("RUNNING").empty());
    CHECK(no_row().empty());
  }
}

TEST_CASE("attempt: edges of a link") {
  Story job({{.name = "algo-1"}});
  CHECK(job.silent("algo-1").empty());  // Nothing was heard of it.
  CHECK(!job.attempt.next_deadline());
  job.slurm("RUNNING");
  CHECK(job.joined("algo-1") == "algo-1 started on node1 10.0.0.1; begin");
  CHECK(!job.attempt.moves());
  CHECK(job.silent("algo-1") == "look");
  CHECK(job.silent("algo-1").empty());
  CHECK(job.attempt.moves());
  CHECK(job.back("algo-1").empty());
  CHECK(!job.attempt.moves());
  CHECK(!job.attempt.next_deadline());
  CHECK(job.silent("algo-1") == "look");
  CHECK(job.until(5min) == "algo-1 lost: its node does not respond; end algo-1; cancel");
  CHECK(!job.attempt.next_deadline());
  CHECK(job.silent("algo-1").empty());
  CHECK(job.back("algo-1") == "end algo-1");
  CHECK(job.silent("algo-1") == "look");
}

TEST_CASE("attempt: edges of what is asked of a host, and whose signal it heard") {
  Story job({{.name = "algo-1"}});
  job.slurm("RUNNING");
  job.joined("algo-1");
  const auto stop = [&] { return text_of(job.attempt.stop("algo-1", 1s, job.wall())); };
  const auto destroy = [&] { return text_of(job.attempt.destroy("algo-1", job.wall(), job.now)); };
  const auto signalled = [&] { return text_of(job.attempt.on_signalled("algo-1")); };
  SUBCASE("nothing: somebody else's signal, and its end waits for Slurm's word") {
    CHECK(signalled() == "look");
    CHECK(job.attempt.moves());
    CHECK(job.ended("algo-1") == "give algo-1");
    CHECK(job.until(10s) == "algo-1 ended, exit code 0");
  }
  SUBCASE("stop, and then end") {
    CHECK(stop() == "stop algo-1 1000");
    CHECK(signalled().empty());
    CHECK(destroy() == "end algo-1");
    CHECK(signalled().empty());
    CHECK(stop() == "stop algo-1 1000");  // And the end's time still runs.
    CHECK(job.until(3s) == "algo-1 lost: its node does not respond; end algo-1; cancel");
  }
  SUBCASE("end: its own word of it is not taken, and says nothing of others'") {
    CHECK(destroy() == "end algo-1");
    CHECK(job.back("algo-1") == "end algo-1");
    CHECK(job.ended("algo-1") == "give algo-1; algo-1 ended, killed by SIGKILL");
    CHECK(signalled().empty());
    CHECK(job.back("algo-1").empty());
    CHECK(stop().empty());
    CHECK(destroy().empty());
    CHECK(!job.attempt.next_deadline());
  }
}

TEST_CASE("attempt: edges of what a host left") {
  using Results = HostState::Results;
  Story job({{.name = "algo-1"}});
  const auto results = [&] { return job.attempt.states()[0].results; };
  job.slurm("RUNNING");
  job.joined("algo-1");
  job.ended("algo-1");
  CHECK(results() == Results::to_come);
  CHECK(!job.attempt.settled());
  SUBCASE("to come, and here: silence takes nothing away") {
    job.given("algo-1");
    CHECK(results() == Results::here);
    CHECK(job.silent("algo-1").empty());
    job.until(6min);
    CHECK(results() == Results::here);
  }
  SUBCASE("to come, lost with the node, and here when it comes back") {
    CHECK(job.silent("algo-1") == "look");
    CHECK(job.until(5min) == "cancel");
    CHECK(results() == Results::lost);
    CHECK(job.attempt.settled());
    CHECK(job.ended("algo-1") == "give algo-1");
    job.given("algo-1");
    CHECK(results() == Results::here);
  }
  SUBCASE("to come, and lost with Slurm's word and the time for more") {
    CHECK(job.slurm("COMPLETED").empty());
    CHECK(results() == Results::to_come);
    job.until(10s);
    CHECK(results() == Results::lost);
  }
}

}  // namespace
}  // namespace muster::cluster
