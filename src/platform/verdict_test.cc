#include "platform/verdict.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

using job::Outcome;

job::Verdict about(const char* host, const char* process, Outcome outcome, int rank = -1) {
  job::Verdict verdict;
  verdict.outcome = std::move(outcome);
  verdict.host = host;
  verdict.process = process;
  verdict.rank = rank;
  return verdict;
}
job::Verdict lost(const char* host) {
  return about(host, "host", Outcome::lost("no heartbeat"));
}
job::Verdict segv() {
  return about("algo-2", "rank 3", Outcome::signaled(11), 3);
}
job::Verdict killed_rank() {
  return about("algo-2", "rank 3", Outcome::signaled(9), 3);
}

/// One host's facts, built by a chain of calls; times in ms.
struct Told : HostFacts {
  explicit Told(const char* name) { host = name; }
  Told& says(job::Verdict verdict, int time = 100) {
    word = std::move(verdict);
    word_time = UnixMillis(time);
    return *this;
  }
  Told& ends(Outcome outcome, int time = 200, bool stopped = false, bool memory = false) {
    end = job::HostEnd{host, std::move(outcome), memory, stopped};
    end_time = UnixMillis(time);
    return steward_ends(Outcome::exited(0), time);
  }
  Told& steward_ends(Outcome outcome, int time = 300) {
    steward = std::move(outcome);
    steward_time = UnixMillis(time);
    return *this;
  }
  Told& is_gone(Outcome how, int time) {
    gone = how;
    return steward_ends(std::move(how), time);
  }
  Told& by_us() {
    killed = true;
    return *this;
  }
  Told& troubled(const char* text) {
    trouble = text;
    return *this;
  }
};
Told algo(int number) {
  return Told(number == 1 ? "algo-1" : number == 2 ? "algo-2" : "algo-3");
}
Told good(int number) {
  return algo(number).says({}).ends(Outcome::exited(0));
}
Told bad(int number, job::Verdict word) {
  return algo(number).says(std::move(word)).ends(Outcome::exited(1));
}

TEST_CASE("verdict: names the host and the cause, whichever host reports them") {
  const Told ended_well = algo(2).ends(Outcome::exited(0));
  struct {
    const char* name;
    std::vector<HostFacts> hosts;
    const char* want;
  } const cases[] = {
      {"all well", {good(1), good(2), good(3)}, "success"},
      {"all well, no verdict told", {algo(1).ends(Outcome::exited(0)), ended_well}, "success"},
      {"a rank, by the leader",
       {bad(1, segv()), bad(2, segv()), bad(3, segv())},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"the leader's word before an earlier one",
       {bad(1, segv()), algo(2).says(about("algo-2", "rank 2", Outcome::exited(1)), 50)},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"no leader's word: the first one said",
       {algo(1).by_us().ends(Outcome::signaled(9)), algo(2).says(segv(), 60),
        algo(3).says(about("algo-3", "rank 5", Outcome::exited(1)), 50)},
       "rank 5 on algo-3: exit code 1"},
      {"a member's init was killed",
       {bad(1, lost("algo-2")), algo(2).ends(Outcome::signaled(9)), bad(3, lost("algo-2"))},
       "host algo-2: killed by SIGKILL"},
      {"the leader's init was killed",
       {algo(1).ends(Outcome::signaled(9)), bad(2, lost("algo-1")), bad(3, lost("algo-1"))},
       "host algo-1: killed by SIGKILL"},
      {"a member's train was killed",
       {bad(1, lost("algo-2")), algo(2).ends(Outcome::exited(137)), bad(3, lost("algo-2"))},
       "train on algo-2: killed by SIGKILL"},
      {"the leader's train was killed",
       {algo(1).ends(Outcome::exited(137)), bad(2, lost("algo-1"))},
       "train on algo-1: killed by SIGKILL"},
      {"a train that gave up without a word",
       {bad(1, lost("algo-2")), algo(2).ends(Outcome::exited(3))},
       "train on algo-2: exit code 3"},
      {"a member's link was cut: two accuse it, it accuses the leader",
       {bad(1, lost("algo-3")), bad(2, lost("algo-3")), bad(3, lost("algo-1"))},
       "host algo-3: lost: no heartbeat"},
      {"the leader's link was cut: two accuse it, it accuses one",
       {bad(1, lost("algo-2")), bad(2, lost("algo-1")), bad(3, lost("algo-1"))},
       "host algo-1: lost: no heartbeat"},
      {"a cut between two: the leader is believed",
       {bad(1, lost("algo-2")), bad(2, lost("algo-1"))},
       "host algo-2: lost: no heartbeat"},
      {"a stopped member, killed by us later",
       {bad(1, lost("algo-2")), algo(2).by_us().ends(Outcome::signaled(9)), bad(3, lost("algo-2"))},
       "host algo-2: lost: no heartbeat"},
      {"the stopped leader, killed by us later",
       {algo(1).by_us().ends(Outcome::signaled(9)), bad(2, lost("algo-1")), bad(3, lost("algo-1"))},
       "host algo-1: lost: no heartbeat"},
      {"a steward was killed",
       {bad(1, lost("algo-2")), algo(2).steward_ends(Outcome::signaled(9))},
       "steward on algo-2: killed by SIGKILL"},
      {"a steward ended without a word of how",
       {bad(1, lost("algo-2")), algo(2).steward_ends(Outcome::exited(0))},
       "steward on algo-2: exited without reporting a result"},
      {"a host could not be started",
       {algo(1).ends(Outcome::exited(1)).says(about("algo-2", "host", Outcome::lost("never came"))),
        algo(2).ends(Outcome::failed("runc: not found"), 20)},
       "host algo-2: runc: not found"},
      {"the engine lost a host, before others said what came of it",
       {algo(1).says(about("algo-1", "rank 0", Outcome::exited(1), 0), 90),
        algo(2).is_gone(Outcome::lost("node n2 does not answer"), 80)},
       "host algo-2: lost: node n2 does not answer"},
      {"a rank failed before the engine lost a host",
       {bad(1, segv()), algo(2).is_gone(Outcome::lost("node n2 does not answer"), 5000)},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"a host was taken away; what its train said of the signal is a consequence",
       {bad(1, lost("algo-2")), algo(2)
                                    .says(about("algo-2", "train", Outcome::signaled(15)), 95)
                                    .ends(Outcome::exited(143), 97)
                                    .is_gone(Outcome::failed("preempted: by job 7"), 90)},
       "host algo-2: preempted: by job 7"},
      {"a host ended with a code that is beyond all signals'",
       {algo(1).ends(Outcome::exited(255), 50)},
       "train on algo-1: exit code 255"},
      {"hosts were asked to end and taken away, by a clock that goes before theirs",
       {algo(1)
            .says(about("algo-1", "train", Outcome::stopped(15)), 50)
            .ends(Outcome::exited(143), 60, true),
        algo(2)
            .ends(Outcome::exited(143), 61, true)
            .is_gone(Outcome::failed("preempted: by job 7"), 90)},
       "host algo-2: preempted: by job 7"},
      {"a host that had failed already when the engine lost it",
       {bad(1, segv()).ends(Outcome::exited(1), 200),
        bad(2, segv()).is_gone(Outcome::lost("node n2 does not answer"), 9000)},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"we ended it: that the engine lost it then tells nothing",
       {good(1), algo(2).by_us().is_gone(Outcome::lost("node n2 does not answer"), 90)},
       "host algo-2: killed: it did not exit in time"},
      {"of two killed hosts the first one",
       {bad(1, lost("algo-3")), algo(2).ends(Outcome::signaled(9), 70),
        algo(3).ends(Outcome::signaled(9), 60)},
       "host algo-3: killed by SIGKILL"},
      {"a rank failed before a host was killed",
       {algo(1).says(segv(), 50).ends(Outcome::exited(1)), algo(2).ends(Outcome::signaled(9), 90)},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"a host was killed before a rank failed of it",
       {algo(1).says(about("algo-1", "rank 0", Outcome::exited(1), 0), 90),
        algo(2).ends(Outcome::signaled(9), 80)},
       "host algo-2: killed by SIGKILL"},
      {"a host that did not end after success",
       {good(1), algo(2).by_us().ends(Outcome::signaled(9))},
       "host algo-2: killed: it did not exit in time"},
      {"a member that fails after the leader's success",
       {good(1), algo(2).says({}).ends(Outcome::exited(137))},
       "train on algo-2: killed by SIGKILL"},
      {"results that could not be kept",
       {good(1), good(2).steward_ends(Outcome::exited(1)).troubled("result: no space left")},
       "steward on algo-2: result: no space left"},
      {"a steward that ended without a word of its host's end, which had said its own",
       {algo(1).steward_ends(Outcome::exited(0)).says(segv())},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"no leader's word: a later one does not come before",
       {algo(1).by_us().ends(Outcome::signaled(9)), algo(2).says(segv(), 50),
        algo(3).says(about("algo-3", "rank 5", Outcome::exited(1)), 60)},
       "rank 3 on algo-2: killed by SIGSEGV"},
      {"a host that the engine lost when its end was written, a success",
       {good(1), good(2).is_gone(Outcome::lost("node n2 does not answer"), 9000)},
       "host algo-2: lost: node n2 does not answer"},
      {"a steward that was killed while it kept the results",
       {good(1), good(2).steward_ends(Outcome::signaled(9))},
       "steward on algo-2: killed by SIGKILL"},
      {"stopped, and the program obeyed",
       {good(1), algo(2).ends(Outcome::exited(143), 9, true)},
       "host algo-2: exit code 143"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(job::describe(verdict_over(c.hosts)) == std::string(c.want));
  }
}

TEST_CASE("verdict: limits that a host met stand in the reason, with their figures") {
  std::vector<HostFacts> hosts = {bad(1, about("algo-1", "rank 0", Outcome::exited(1), 0)),
                                  algo(2).ends(Outcome::exited(1), 200)};
  hosts[1].end->overruns = {"disk: 5 GiB of VolumeSizeInGB=5 full"};
  CHECK(reason_of(verdict_over(hosts), hosts) ==
        "rank 0 on algo-1: exit code 1; algo-2: disk: 5 GiB of VolumeSizeInGB=5 full");
}

TEST_CASE("verdict: the reason says where memory ran out") {
  const std::vector<HostFacts> hosts = {
      bad(1, killed_rank()),
      algo(2).says(killed_rank()).ends(Outcome::exited(1), 200, false, true)};
  CHECK(reason_of(verdict_over(hosts), hosts) ==
        "rank 3 on algo-2: killed by SIGKILL (out of memory)");
  const std::vector<HostFacts> other = {bad(1, about("algo-1", "rank 0", Outcome::exited(1), 0)),
                                        algo(2).ends(Outcome::exited(1), 200, true, true)};
  CHECK(reason_of(verdict_over(other), other) ==
        "rank 0 on algo-1: exit code 1; algo-2 ran out of memory");
  // The host's own failure, of another kind than the kernel's kill.
  const std::vector<HostFacts> own = {algo(1)
                                          .says(about("algo-1", "rank 0", Outcome::signaled(11), 0))
                                          .ends(Outcome::exited(1), 200, false, true)};
  CHECK(reason_of(verdict_over(own), own) ==
        "rank 0 on algo-1: killed by SIGSEGV; algo-1 ran out of memory");
}

}  // namespace
}  // namespace muster::platform
