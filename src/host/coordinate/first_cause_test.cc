#include "host/coordinate/first_cause.h"

#include <doctest/doctest.h>

#include <csignal>
#include <vector>

#include "base/testing.h"

using namespace muster;
using namespace std::chrono_literals;
using coordinate::FirstCause;
using job::Outcome;
using job::Verdict;

namespace {

const TimePoint start{1h};

Verdict rank(int number, const char* host, Outcome outcome) {
  return {.outcome = std::move(outcome),
          .host = host,
          .process = "rank " + std::to_string(number),
          .rank = number,
          .last_lines = {},
          .command = {}};
}
Verdict process(const char* name, const char* host, Outcome outcome) {
  return {.outcome = std::move(outcome),
          .host = host,
          .process = name,
          .rank = -1,
          .last_lines = {},
          .command = {}};
}
Verdict lost(const char* host) {
  return process("host", host, Outcome::lost("its session ended"));
}

Verdict blames(Verdict verdict) {
  verdict.error = "RuntimeError: Connection closed by peer";
  verdict.blames_peer = true;
  return verdict;
}
Verdict unseen(Verdict verdict) {
  verdict.unseen = true;
  return verdict;
}
Verdict wrote(const char* error, Verdict verdict) {
  verdict.error = error;
  return verdict;
}

struct Arrival {
  std::chrono::milliseconds at;
  Verdict verdict;
};

}  // namespace

TEST_CASE("first cause: an end that is told at an earlier time than the last ends the process") {
  FirstCause cause;
  cause.add(rank(1, "algo-1", Outcome::exited(1)), start);
  CHECK(aborts([&] { cause.add(rank(2, "algo-1", Outcome::exited(1)), start - 1ms); }));
  CHECK(aborts([&] { cause.all_ended(start - 1ms); }));
  CHECK(cause.decide(start - 1ms) == std::nullopt);  // A question, not an event.
}

TEST_CASE("first cause: of ends that arrive together the one that others followed from is named") {
  const Verdict segv = rank(3, "algo-2", Outcome::signaled(SIGSEGV));
  const Verdict abort = rank(4, "algo-3", Outcome::signaled(SIGABRT));
  const Verdict killed = rank(3, "algo-2", Outcome::signaled(SIGKILL));
  const Verdict termed = rank(2, "algo-2", Outcome::signaled(SIGTERM));
  const Verdict interrupted = rank(2, "algo-2", Outcome::signaled(SIGINT));
  const Verdict pipe = rank(1, "algo-1", Outcome::signaled(SIGPIPE));
  const Verdict exit0 = rank(0, "algo-1", Outcome::exited(1));
  const Verdict exit5 = rank(5, "algo-3", Outcome::exited(3));
  const Verdict no_program = rank(2, "algo-2", Outcome::failed("train.py: not found"));
  const Verdict orted_killed = process("orted", "algo-2", Outcome::signaled(SIGKILL));
  const Verdict orted_exit = process("orted", "algo-2", Outcome::exited(1));
  const Verdict orted_failed = process("orted", "algo-2", Outcome::failed("orted: not found"));
  const Verdict orted_termed = process("orted", "algo-2", Outcome::signaled(SIGTERM));
  const Verdict mpirun_killed = process("mpirun", "algo-1", Outcome::signaled(SIGKILL));
  const Verdict mpirun_exit = process("mpirun", "algo-1", Outcome::exited(139));
  const Verdict fine = rank(1, "algo-1", Outcome::exited(0));
  const Verdict gone = lost("algo-2");
  const Verdict rank_blames = blames(exit0);
  const Verdict agent_blames = blames(process("t.py", "algo-1", Outcome::exited(1)));
  const Verdict other_blames = blames(process("t.py", "algo-3", Outcome::exited(1)));
  const Verdict agent_fails =
      wrote("ValueError: bad loss", process("t.py", "algo-2", Outcome::exited(1)));
  const Verdict abort_blames = blames(abort);
  const Verdict told_then_termed = wrote("ValueError: bad loss", termed);
  const Verdict given_up = unseen(rank(0, "algo-1", Outcome::signaled(SIGKILL)));
  const Verdict told_then_killed = wrote("ValueError: bad loss", killed);
  struct {
    const char* name;
    std::vector<Arrival> arrivals;
    const Verdict& want;
  } const cases[] = {
      {"one exit", {{0ms, exit0}}, exit0},
      {"the first of two exits", {{0ms, exit5}, {1ms, exit0}}, exit5},
      {"a segfault after a broken connection", {{0ms, exit0}, {3ms, segv}}, segv},
      {"a segfault before a broken connection", {{0ms, segv}, {1ms, exit0}}, segv},
      {"a segfault just inside the window", {{0ms, exit0}, {199ms, segv}}, segv},
      {"a segfault after the window", {{0ms, exit0}, {200ms, segv}}, exit0},
      {"the first of two crashes", {{0ms, abort}, {1ms, segv}}, abort},
      {"a rank killed, its peer told first", {{0ms, exit0}, {2ms, killed}}, killed},
      {"a rank killed beats mpirun's exit", {{0ms, mpirun_exit}, {1ms, killed}}, killed},
      {"a crash beats a kill", {{0ms, killed}, {1ms, segv}}, segv},
      {"mpirun's own kill comes too late", {{0ms, exit5}, {1000ms, killed}}, exit5},
      {"mpirun's own kill, by a leader that was busy", {{0ms, exit5}, {1ms, given_up}}, exit5},
      {"mpirun's own kill reaches the leader first", {{0ms, given_up}, {9ms, exit5}}, exit5},
      {"sm rank is killed, peers blame it", {{0ms, rank_blames}, {9ms, given_up}}, given_up},
      {"sm rank is killed, mpirun exits", {{0ms, mpirun_exit}, {1ms, given_up}}, given_up},
      {"a host lost after its peers' exits", {{0ms, exit0}, {1ms, exit5}, {5ms, gone}}, gone},
      {"a host lost before them", {{0ms, gone}, {1ms, exit0}}, gone},
      {"a host's ranks killed as it dies", {{0ms, killed}, {2ms, gone}}, gone},
      {"orted killed, its ranks after it", {{0ms, orted_killed}, {1ms, killed}}, orted_killed},
      {"orted killed, its ranks before it", {{0ms, killed}, {1ms, orted_killed}}, orted_killed},
      {"orted killed, ranks fail", {{0ms, exit0}, {1ms, orted_killed}}, orted_killed},
      {"mpirun killed, ranks fail", {{0ms, exit0}, {1ms, mpirun_killed}}, mpirun_killed},
      {"mpirun killed, orteds exit", {{0ms, orted_exit}, {1ms, mpirun_killed}}, mpirun_killed},
      {"mpirun reports first", {{0ms, mpirun_exit}, {1ms, exit5}}, exit5},
      {"mpirun alone", {{0ms, mpirun_exit}}, mpirun_exit},
      {"orted cannot start", {{0ms, orted_failed}, {2ms, mpirun_exit}}, orted_failed},
      {"orted cannot start, told last", {{0ms, mpirun_exit}, {2ms, orted_failed}}, orted_failed},
      {"a program that is not there", {{0ms, mpirun_exit}, {1ms, no_program}}, no_program},
      {"a broken pipe before its cause", {{0ms, pipe}, {1ms, exit5}}, exit5},
      {"a broken pipe beats the launcher", {{0ms, mpirun_exit}, {1ms, pipe}}, pipe},
      {"asked to end, then the cause", {{0ms, termed}, {150ms, exit5}}, exit5},
      {"asked to end never beats", {{0ms, mpirun_exit}, {1ms, termed}}, mpirun_exit},
      {"asked to end, nothing else", {{0ms, interrupted}, {1ms, termed}}, interrupted},
      {"orted asked to end", {{0ms, orted_termed}, {1ms, exit5}}, exit5},
      {"a rank that blames its peer, then the peer", {{0ms, rank_blames}, {9ms, exit5}}, exit5},
      {"a rank that blames its peer, mpirun",
       {{0ms, mpirun_exit}, {9ms, rank_blames}},
       rank_blames},
      {"an agent that blames a peer, its cause after it",
       {{0ms, agent_blames}, {3ms, other_blames}, {4900ms, agent_fails}},
       agent_fails},
      {"an agent's cause comes first", {{0ms, agent_fails}, {1ms, agent_blames}}, agent_fails},
      {"agents that blame each other", {{0ms, agent_blames}, {1ms, other_blames}}, agent_blames},
      {"an agent's cause comes too late",
       {{0ms, agent_blames}, {5000ms, agent_fails}},
       agent_blames},
      {"a script that blames a peer, its cause after it",
       {{0ms, rank_blames}, {1400ms, exit5}},
       exit5},
      {"mpirun's kill while a blamed peer is waited for",
       {{0ms, rank_blames}, {1000ms, killed}},
       rank_blames},
      {"the cause, ended by mpirun while it ended",
       {{0ms, rank_blames}, {900ms, told_then_termed}},
       told_then_termed},
      {"the cause, killed by mpirun while it ended",
       {{0ms, rank_blames}, {1900ms, told_then_killed}},
       told_then_killed},
      {"one that was ended after it had told an error is no cause beside an exit",
       {{0ms, told_then_termed}, {9ms, exit5}},
       exit5},
      {"an abort that blames a peer, then the peer", {{0ms, abort_blames}, {3s, exit5}}, exit5},
      {"a host is lost while a blamed peer is waited for", {{0ms, rank_blames}, {1s, gone}}, gone},
      {"successes say nothing", {{0ms, fine}, {50ms, exit5}}, exit5},
      {"a success does not open the window", {{0ms, fine}, {150ms, exit0}, {250ms, segv}}, segv},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    FirstCause cause;
    for (const Arrival& arrival : c.arrivals) cause.add(arrival.verdict, start + arrival.at);
    const std::optional<Verdict> got = cause.decide(start + 6s);
    REQUIRE(got);
    CHECK(*got == c.want);
    CHECK(cause.failing());
  }
}

TEST_CASE("first cause: nothing is decided before the window closes, except what nothing beats") {
  FirstCause cause;
  CHECK_FALSE(cause.next_deadline());
  CHECK_FALSE(cause.decide(start));
  cause.add(rank(1, "algo-1", Outcome::exited(0)), start);
  CHECK_FALSE(cause.failing());
  CHECK_FALSE(cause.next_deadline());
  cause.add(rank(0, "algo-1", Outcome::exited(1)), start);
  CHECK(cause.failing());
  CHECK_FALSE(cause.decide(start + 199ms));
  REQUIRE(cause.next_deadline());
  CHECK(*cause.next_deadline() == start + 200ms);
  CHECK(cause.decide(start + 200ms)->rank == 0);
  FirstCause other;
  other.add(rank(0, "algo-1", Outcome::exited(1)), start);
  other.add(lost("algo-3"), start + 10ms);
  CHECK(other.decide(start + 10ms)->host == "algo-3");
  other.add(lost("algo-2"), start + 11ms);
  CHECK(other.decide(start + 12ms)->host == "algo-3");
}

TEST_CASE("first cause: if hosts only blame peers, the verdict waits until all have ended") {
  const Verdict agent = blames(process("t.py", "algo-1", Outcome::exited(1)));
  FirstCause cause;
  cause.add(agent, start);
  CHECK(*cause.next_deadline() == start + 5s);
  CHECK_FALSE(cause.decide(start + 4999ms));
  cause.add(wrote("ValueError: bad loss", process("t.py", "algo-2", Outcome::exited(1))),
            start + 700ms);
  CHECK(cause.decide(start + 700ms)->host == "algo-2");
  FirstCause alone;
  alone.add(agent, start);
  alone.all_ended(start + 1s);
  CHECK(*alone.next_deadline() == start + 1200ms);
  CHECK_FALSE(alone.decide(start + 1199ms));
  REQUIRE(alone.decide(start + 1200ms));
  CHECK(job::describe(*alone.decide(start + 1200ms)).ends_with("another process's failure)"));
  FirstCause late;
  late.add(agent, start);
  late.all_ended(start + 4900ms);
  CHECK(*late.next_deadline() == start + 5s);
}

TEST_CASE("first cause: the window is settable") {
  FirstCause cause({.window = 0ms});
  cause.add(rank(0, "algo-1", Outcome::exited(1)), start);
  CHECK(cause.decide(start)->rank == 0);
}
