#include "host/calls/call_course.h"

#include <doctest/doctest.h>

#include <csignal>
#include <functional>

#include "base/testing.h"
#include "host/calls/call_course_testing.h"

namespace muster::calls {
namespace {

TEST_CASE_FIXTURE(Course, "call: runs when every host has called, and is answered to each") {
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2"}));
  CHECK(course.take_actions().empty());
  CHECK(course.missing() == Args{"algo-2"});
  member_calls("algo-2");
  const std::vector<Action> begun = course.take_actions();
  REQUIRE(begun.size() == 2);
  CHECK(begun[0].kind == Kind::begin);
  CHECK(begun[0].hosts == Args{"algo-1", "algo-2"});
  CHECK(begun[1].kind == Kind::launch);
  CHECK(course.missing().empty());
  course.launcher_ended(begun[1].number, end_of("algo-1", Outcome::exited(0), -1), now);
  const Action drain = only();
  CHECK(drain.kind == Kind::drain);
  CHECK(drain.grace == Duration());
  course.drained("algo-1");
  CHECK(course.take_actions().empty());
  course.drained("algo-2");
  const Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.hosts == Args{"algo-1", "algo-2"});
  CHECK(answer.result.verdict.success());
  CHECK(!course.own());
  CHECK(!course.next_deadline());
}

TEST_CASE_FIXTURE(Course, "call: an event at an earlier time than the last ends the process") {
  member_calls("algo-2");
  CHECK(aborts([&] { course.step(now - milliseconds(1)); }));
  CHECK(aborts([&] { course.lost("algo-2", now - milliseconds(1)); }));
}

TEST_CASE_FIXTURE(Course, "call: an exchange runs nothing and gives every host's data") {
  leader_calls(call_of(Call::Kind::exchange, {"algo-1", "algo-2"}));
  member_calls("algo-2");
  const Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.result.data.at("algo-2") == "data of algo-2");
  CHECK(answer.result.data.size() == 2);
}

TEST_CASE_FIXTURE(Course, "call: an exchange of more than an answer holds fails, and says so") {
  leader_calls(call_of(Call::Kind::exchange, {"algo-1", "algo-2"}));
  course.member_calls("algo-2", {"mpirun train.py", "d", std::string(1100000, 'x')}, now);
  const Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.result.data.empty());
  CHECK_FALSE(answer.result.verdict.success());
  CHECK(answer.result.verdict.outcome.text.starts_with("the hosts' data has 11"));
}

TEST_CASE_FIXTURE(Course, "call: a direct one succeeds when all that decide have ended") {
  run(Call::Kind::direct);
  course.done_here(course.number(), now);
  CHECK(course.take_actions().empty());
  course.done("algo-2", now);
  CHECK(only().kind == Kind::drain);
}

TEST_CASE_FIXTURE(Course, "call: the job's whole work is answered without a drain") {
  leader_calls(call_of(Call::Kind::mpi, {"algo-1"}), true);
  static_cast<void>(course.take_actions());
  course.launcher_ended(1, end_of("algo-1", Outcome::exited(2), -1), now);
  CHECK(course.take_actions().empty());
  step_to(milliseconds(200));
  const Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.result.verdict.outcome == Outcome::exited(2));
  CHECK(course.last_failure()->outcome == Outcome::exited(2));
}

TEST_CASE("call: mpirun's own failure counts, but where so many ranks as say it have ended well") {
  const struct {
    int decide;
    int ranks;
    Outcome launcher;
    bool well;
  } cases[] = {
      {2, 2, Outcome::exited(255), true},
      {2, 1, Outcome::exited(255), false},
      {0, 2, Outcome::exited(255), false},
      {2, 2, Outcome::signaled(SIGSEGV), false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.decide);
    CAPTURE(c.ranks);
    Course course;
    Call call = call_of(Call::Kind::mpi, {"algo-1", "algo-2"});
    call.ranks_decide = c.decide;
    course.leader_calls(call);
    course.member_calls("algo-2");
    static_cast<void>(course.course.take_actions());
    const CallCourse::Number number = course.course.number();
    course.course.launcher_ended(number, end_of("algo-1", c.launcher, -1), course.now);
    course.course.ended_here(number, end_of("algo-1", Outcome::exited(0), 0), course.now);
    if (c.ranks == 2) course.course.ended(end_of("algo-2", Outcome::exited(0), 1), course.now);
    course.step_to(milliseconds(200));
    const std::vector<Action> actions = course.course.take_actions();
    REQUIRE(!actions.empty());
    CHECK(actions.back().kind == Kind::drain);
    CHECK((actions.size() == 2) == c.well);
    if (c.well) CHECK(actions[0].text.ends_with("255, after all ranks had succeeded"));
    course.course.drained("algo-1");
    course.course.drained("algo-2");
    CHECK(course.only().result.verdict.success() == c.well);
  }
}

TEST_CASE("call: a session of ssh that ends before a rank of its host fails a call that goes on") {
  enum class Then { nothing, rank_ends, new_session, launcher_ends, stop };
  const struct {
    const char* name;
    bool rank_first;  ///< A rank of the host ends before the session.
    Then then;
    bool fails;
  } cases[] = {
      {"nothing else happens", false, Then::nothing, true},
      {"a rank of it has ended", true, Then::nothing, false},
      {"the end of its rank arrives later", false, Then::rank_ends, false},
      {"mpirun opens another session", false, Then::new_session, false},
      {"mpirun ends", false, Then::launcher_ends, false},
      {"the job was asked to stop", false, Then::stop, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course each;
    each.run(Call::Kind::mpi);
    CallCourse& course = each.course;
    const CallCourse::Number number = course.number();
    course.session_begins("algo-2");
    course.ended_here(number, end_of("algo-1", Outcome::exited(0)), each.now);
    if (c.rank_first) course.ended(end_of("algo-2", Outcome::exited(0), 1), each.now);
    course.session_ended(number, "algo-2", Outcome::exited(0), each.now);
    each.step_to(milliseconds(9900));
    CHECK(course.take_actions().size() == (c.rank_first ? 0 : 1));  // The session's end is logged.
    if (c.then == Then::rank_ends) course.ended(end_of("algo-2", Outcome::exited(0), 1), each.now);
    if (c.then == Then::new_session) course.session_begins("algo-2");
    if (c.then == Then::launcher_ends)
      course.launcher_ended(number, end_of("algo-1", Outcome::exited(0), -1), each.now);
    if (c.then == Then::stop) course.stop(each.now);
    CHECK(course.next_deadline().has_value() == (c.fails || c.then == Then::launcher_ends));
    static_cast<void>(course.take_actions());
    each.step_to(milliseconds(100));
    each.step_to(milliseconds(200));
    const std::vector<Action> actions = course.take_actions();
    CHECK((!actions.empty() && actions.front().kind == Kind::drain) == c.fails);
    if (!c.fails) continue;
    course.drained("algo-1");
    course.drained("algo-2");
    CHECK(course.last_failure()->host == "algo-1");
    CHECK(job::describe(*course.last_failure())
              .starts_with("ssh on algo-1: the SSH session to algo-2 ended (exit code 0) before "
                           "its ranks, and mpirun is still waiting"));
  }
}

TEST_CASE("call: a rank that only blames a peer is waited for until all ranks have ended") {
  const auto blames = [](const std::string& host, int rank) {
    job::Verdict verdict = end_of(host, Outcome::exited(1), rank);
    verdict.error = "RuntimeError: Connection closed by peer";
    verdict.blames_peer = true;
    return verdict;
  };
  struct {
    const char* name;
    int ranks;    ///< How many the call knows of.
    bool second;  ///< The other rank blames a peer, too.
    milliseconds early, due;
    bool told;  ///< The end is reported as a possible consequence.
  } const cases[] = {
      {"the other one still runs", 2, false, milliseconds(4999), milliseconds(5000), true},
      {"all have ended", 2, true, milliseconds(199), milliseconds(200), true},
      {"nobody knows how many there are", 0, true, milliseconds(4999), milliseconds(5000), true},
      {"there is no other", 1, false, milliseconds(199), milliseconds(200), false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course course;
    Call call = call_of(Call::Kind::mpi, {"algo-1", "algo-2"});
    call.ranks = c.ranks;
    course.leader_calls(call, true);
    course.member_calls("algo-2");
    static_cast<void>(course.course.take_actions());
    course.course.ended_here(course.course.number(), blames("algo-1", 0), course.now);
    if (c.second) course.course.ended(blames("algo-2", 1), course.now);
    const TimePoint begun = course.now;
    course.now = begun + c.early;
    course.course.step(course.now);
    CHECK(course.course.take_actions().empty());
    course.now = begun + c.due;
    course.course.step(course.now);
    CHECK(course.only().result.verdict.blames_peer == c.told);
  }
}

TEST_CASE(
    "call: one that cannot happen fails for all hosts that made it, and names the host at fault") {
  const struct {
    const char* name;
    std::function<void(Course&)> happens;
    const char* host;
    const char* why;
  } cases[] = {
      {"other call", [](Course& c) { c.member_calls("algo-2", "other"); }, "algo-2",
       "calls mpirun train.py, but algo-1 calls mpirun train.py; every host must make the same "
       "call"},
      {"outsider", [](Course& c) { c.member_calls("algo-9"); }, "algo-9",
       "calls mpirun train.py, but does not take part in the distribution"},
      {"ended", [](Course& c) { c.course.gone("algo-2"); }, "algo-2",
       "exited without calling mpirun train.py"},
      {"caller gone",
       [](Course& c) { c.course.ended(end_of("algo-1", Outcome::failed("was ended")), c.now); },
       "algo-1", "was ended"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course test;
    test.leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2", "algo-3"}));
    c.happens(test);
    const Action answer = test.only();
    CHECK(answer.kind == Kind::answer);
    CHECK(answer.hosts.front() == "algo-1");
    CHECK(answer.result.verdict.host == c.host);
    CHECK(answer.result.verdict.outcome.text.find(c.why) != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Course, "call: members whose leader has ended learn so") {
  member_calls("algo-2");
  CHECK(course.missing() == Args{"algo-1"});
  course.gone("algo-1");
  const Action answer = only();
  CHECK(answer.hosts == Args{"algo-2"});
  CHECK(answer.result.verdict.outcome.text == "exited without calling mpirun train.py");
}

TEST_CASE_FIXTURE(Course, "call: a second one on the leader is refused, and disturbs nothing") {
  run(Call::Kind::direct);
  const Result<void> again = course.call(call_of(Call::Kind::mpi, {"algo-1"}), false, now);
  CHECK(again.error().code == Errc::closed);
  CHECK(course.take_actions().empty());
  CHECK(course.own()->kind == Call::Kind::direct);
}

TEST_CASE_FIXTURE(Course, "call: an outsider that calls while one runs is refused alone") {
  run(Call::Kind::direct);
  member_calls("algo-3");
  const Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.hosts == Args{"algo-3"});
  CHECK(!answer.result.verdict.success());
  CHECK(course.runs(course.number()));
}

TEST_CASE_FIXTURE(Course, "call: its first cause is the answer, and what is left gets the grace") {
  run(Call::Kind::mpi);
  course.ended(end_of("algo-2", Outcome::exited(7), 3), now);
  course.launcher_ended(course.number(), end_of("algo-1", Outcome::exited(1), -1), now);
  CHECK(course.take_actions().empty());
  REQUIRE(course.next_deadline());
  now = *course.next_deadline();
  course.step(now);
  CHECK(only().grace == grace);
  course.ended(end_of("algo-1", Outcome::signaled(SIGKILL)), now);
  course.drained("algo-1");
  course.drained("algo-2");
  const Action answer = only();
  CHECK(answer.result.verdict.rank == 3);
  CHECK(answer.result.verdict.host == "algo-2");
}

TEST_CASE_FIXTURE(Course, "call: after a stop it ends when all of it has, not at its first death") {
  run(Call::Kind::direct);
  course.stop(now);
  course.ended(end_of("algo-2", Outcome::signaled(SIGTERM)), now);
  course.done("algo-2", now);
  step_to(seconds(5));
  CHECK(course.take_actions().empty());
  CHECK(!course.next_deadline());
  course.done_here(course.number(), now);
  CHECK(only().kind == Kind::drain);
}

TEST_CASE_FIXTURE(Course,
                  "call: after a stop it waits for hosts whose deciding processes ended before") {
  run(Call::Kind::direct);
  course.done_here(course.number(), now);  // The host's parameter server still runs.
  course.stop(now);
  course.done("algo-2", now);
  CHECK(course.take_actions().empty());
  course.done_here(course.number(), now);
  CHECK(only().kind == Kind::drain);
}

TEST_CASE_FIXTURE(Course, "call: after a stop the launcher sees no rank's end before the last") {
  run(Call::Kind::mpi);
  course.stop(now);
  course.stop(now);
  course.ended(end_of("algo-2", Outcome::exited(143), 1), now);
  course.done("algo-2", now);
  step_to(seconds(50));
  CHECK(course.take_actions().empty());
  course.ended_here(course.number(), end_of("algo-1", Outcome::exited(0), 0), now);
  course.done_here(course.number(), now);
  const Action release = only();
  CHECK(release.kind == Kind::release);
  CHECK(release.hosts == Args{"algo-1", "algo-2"});
  course.launcher_ended(course.number(), end_of("algo-1", Outcome::exited(1), -1), now);
  CHECK(only().kind == Kind::drain);
  course.drained("algo-1");
  course.drained("algo-2");
  CHECK(only().result.verdict.outcome == Outcome::exited(143));
}

TEST_CASE_FIXTURE(Course, "call: after a stop a host that is lost has no rank to wait for") {
  run(Call::Kind::mpi);
  course.stop(now);
  course.done_here(course.number(), now);
  CHECK(course.take_actions().empty());
  course.lost("algo-2", now);
  CHECK(only().kind == Kind::release);
}

TEST_CASE_FIXTURE(Course,
                  "call: after a stop nothing is launched, and callers are refused at once") {
  member_calls("algo-2");
  member_calls("algo-3");
  course.stop(now);  // algo-1 has not called, and never does if it gave its work up.
  Action answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.hosts == Args{"algo-2", "algo-3"});
  CHECK(answer.result.verdict.outcome.text == "the job was asked to stop");
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2"}));
  answer = only();
  CHECK(answer.kind == Kind::answer);
  CHECK(answer.hosts == Args{"algo-1"});
  CHECK(!course.next_deadline());
}

TEST_CASE_FIXTURE(Course, "call: late reports of an earlier call do not count for the next") {
  run(Call::Kind::mpi);
  const CallCourse::Number first = course.number();
  course.launcher_ended(first, end_of("algo-1", Outcome::exited(0), -1), now);
  course.drained("algo-1");
  course.drained("algo-2");
  static_cast<void>(course.take_actions());
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2"}));
  // Killed when the answer was on its way: no caller of this call is gone.
  course.ended(end_of("algo-2", Outcome::failed("stopped before its call")), now);
  CHECK(course.take_actions().empty());
  member_calls("algo-2");
  CHECK(course.number() == first + 1);
  static_cast<void>(course.take_actions());
  course.ended_here(first, end_of("algo-1", Outcome::signaled(SIGSEGV)), now);
  course.done_here(first, now);
  course.launcher_ended(first, end_of("algo-1", Outcome::signaled(SIGKILL), -1), now);
  step_to(seconds(1));
  CHECK(course.take_actions().empty());
  CHECK(course.runs(first + 1));
}

TEST_CASE_FIXTURE(Course, "call: waiting calls report the missing hosts every ten seconds") {
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2", "algo-3"}));
  CHECK(*course.next_deadline() == now + seconds(10));
  step_to(seconds(9));
  CHECK(course.take_actions().empty());
  step_to(seconds(1));
  CHECK(only().text == "mpirun train.py is waiting for algo-2, algo-3 to call it too");
  member_calls("algo-2");
  step_to(seconds(10));
  CHECK(only().text == "mpirun train.py is waiting for algo-3 to call it too");
  member_calls("algo-3");
  static_cast<void>(course.take_actions());
  course.launcher_ended(course.number(), end_of("algo-1", Outcome::exited(0), -1), now);
  static_cast<void>(course.take_actions());
  course.drained("algo-1");
  course.drained("algo-3");
  step_to(seconds(10));
  CHECK(only().text == "mpirun train.py is waiting for algo-2 to stop its remaining processes");
  course.lost("algo-2", now);
  CHECK(only().kind == Kind::answer);
}

TEST_CASE_FIXTURE(Course, "call: daemons are for a launcher that runs, on hosts of its call") {
  CHECK(course.refusal("algo-1") == "no launch is in progress");
  run(Call::Kind::mpi);
  CHECK(!course.refusal("algo-2"));
  CHECK(course.refusal("algo-7") == "algo-7 is not a host of this job");
  Course direct;
  direct.run(Call::Kind::direct);
  CHECK(direct.course.refusal("algo-2") == "no launch is in progress");
}

TEST_CASE_FIXTURE(Course, "call: after the job's end nothing is done and no call is answered") {
  run(Call::Kind::mpi);
  course.close();
  course.launcher_ended(course.number(), end_of("algo-1", Outcome::signaled(SIGSEGV), -1), now);
  course.gone("algo-2");
  course.drained("algo-2");
  member_calls("algo-3");
  course.ended(end_of("algo-2", Outcome::signaled(SIGSEGV)), now);
  course.restarts(end_of("algo-2", Outcome::signaled(SIGSEGV)), now);
  course.session_ended(course.number(), "algo-2", Outcome::exited(255), now);
  course.lost("algo-2", now);
  course.stop(now);
  step_to(seconds(20));
  CHECK(course.take_actions().empty());
  CHECK(!course.next_deadline());
  CHECK(course.refusal("algo-2") == "no launch is in progress");
}

TEST_CASE_FIXTURE(Course, "call: a host that calls again before its answer changes nothing") {
  run(Call::Kind::direct);
  member_calls("algo-2", "other");
  CHECK(course.take_actions().empty());
  course.done_here(course.number(), now);
  course.done("algo-2", now);
  CHECK(only().kind == Kind::drain);
  member_calls("algo-2", "other");
  CHECK(course.take_actions().empty());
  member_calls("algo-3");
  CHECK(only().hosts == Args{"algo-3"});
  course.drained("algo-1");
  course.drained("algo-2");
  const Action answer = only();
  CHECK(answer.hosts == Args{"algo-1", "algo-2"});
  CHECK(answer.result.verdict.success());
}

TEST_CASE_FIXTURE(Course, "call: ends that concern no caller do not disturb one that waits") {
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2"}));
  course.gone("algo-9");
  course.ended(end_of("algo-1", Outcome::exited(0)), now);
  CHECK(course.take_actions().empty());
  CHECK(course.missing() == Args{"algo-2"});
  member_calls("algo-2");
  CHECK(course.runs(course.number()));
}

TEST_CASE_FIXTURE(Course, "call: only the last host that is done while the call runs matters") {
  run(Call::Kind::direct);
  course.done("algo-9", now);
  course.done("algo-1", now);
  course.done("algo-1", now);
  CHECK(course.take_actions().empty());
  course.ended(end_of("algo-2", Outcome::exited(1), 1), now);
  step_to(milliseconds(200));
  CHECK(only().kind == Kind::drain);
  course.done("algo-2", now);
  CHECK(course.take_actions().empty());
}

TEST_CASE_FIXTURE(Course, "call: a lost host ends no call by itself") {
  leader_calls(call_of(Call::Kind::mpi, {"algo-1", "algo-2"}));
  course.lost("algo-2", now);
  CHECK(course.take_actions().empty());
  member_calls("algo-2");
  static_cast<void>(course.take_actions());
  course.lost("algo-2", now);
  step_to(seconds(20));
  CHECK(course.take_actions().empty());
  CHECK(course.runs(course.number()));
}

TEST_CASE("call: where all ranks that decide have ended well, other failures still count") {
  const struct {
    const char* name;
    job::Verdict last;
    bool well;
  } cases[] = {
      {"mpirun succeeds", end_of("algo-1", Outcome::exited(0), -1), true},
      {"a further rank fails", end_of("algo-1", Outcome::exited(3), 2), false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course each;
    Call call = call_of(Call::Kind::mpi, {"algo-1", "algo-2"});
    call.ranks_decide = 2;
    each.leader_calls(call);
    each.member_calls("algo-2");
    static_cast<void>(each.course.take_actions());
    const CallCourse::Number number = each.course.number();
    each.course.ended_here(number, end_of("algo-1", Outcome::exited(0), 0), each.now);
    each.course.ended(end_of("algo-2", Outcome::exited(0), 1), each.now);
    if (c.last.rank < 0)
      each.course.launcher_ended(number, c.last, each.now);
    else
      each.course.ended_here(number, c.last, each.now);
    each.step_to(milliseconds(200));
    CHECK(each.only().kind == Kind::drain);  // No failure is excused.
    each.course.drained("algo-1");
    each.course.drained("algo-2");
    CHECK(each.only().result.verdict.success() == c.well);
  }
}

TEST_CASE("call: the end of a session of ssh is not logged where it explains nothing") {
  const struct {
    const char* name;
    std::function<void(Course&)> before;
    CallCourse::Number number;
  } cases[] = {
      {"of another call", [](Course&) {}, 7},
      {"after a stop", [](Course& c) { c.course.stop(c.now); }, 1},
      {"after a failure",
       [](Course& c) { c.course.ended(end_of("algo-1", Outcome::exited(1)), c.now); }, 1},
      {"after its rank",
       [](Course& c) { c.course.ended(end_of("algo-2", Outcome::exited(0), 1), c.now); }, 1},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course each;
    each.run(Call::Kind::mpi);
    c.before(each);
    each.course.session_ended(c.number, "algo-2", Outcome::exited(255), each.now);
    CHECK(each.course.take_actions().empty());
  }
}

TEST_CASE_FIXTURE(Course, "call: of several sessions that have ended the first one is due first") {
  run(Call::Kind::mpi);
  CHECK(!course.next_deadline());
  const TimePoint begin = now;
  course.session_ended(1, "algo-2", Outcome::exited(0), now);
  now += seconds(1);
  course.session_ended(1, "algo-1", Outcome::exited(0), now);
  CHECK(*course.next_deadline() == begin + seconds(10));
  course.session_begins("algo-2");
  now += seconds(1);
  course.session_ended(1, "algo-2", Outcome::exited(0), now);
  CHECK(*course.next_deadline() == begin + seconds(11));
}

}  // namespace
}  // namespace muster::calls
