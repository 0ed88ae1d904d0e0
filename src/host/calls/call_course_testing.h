#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "host/calls/call_course.h"

namespace muster::calls {

using job::Outcome;
using launch::Call;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Action = CallCourse::Action;
using Kind = CallCourse::Action::Kind;

inline constexpr Duration grace = seconds(1);

inline Call call_of(Call::Kind kind, Args hosts, const std::string& digest = "d") {
  Call call;
  call.name = "mpirun train.py";
  call.digest = digest;
  call.hosts = std::move(hosts);
  call.kind = kind;
  if (kind == Call::Kind::mpi) call.launcher = Command{{"mpirun"}, {}, {}};
  return call;
}

inline job::Verdict end_of(const std::string& host, Outcome outcome, int rank = 0) {
  job::Verdict verdict;
  verdict.host = host;
  verdict.rank = rank;
  verdict.outcome = std::move(outcome);
  return verdict;
}

/// The leader algo-1, and members that call as it does.
struct Course {
  CallCourse course{{.host = "algo-1", .failure_grace = grace}};
  TimePoint now{std::chrono::hours(1)};

  void leader_calls(const Call& call, bool whole_job = false) {
    REQUIRE(course.call(call, whole_job, now));
  }
  void member_calls(const std::string& host, const std::string& digest = "d") {
    course.member_calls(host, {"mpirun train.py", digest, "data of " + host}, now);
  }
  /// algo-1 and algo-2 have called, and what that brings about is done.
  void run(Call::Kind kind) {
    leader_calls(call_of(kind, {"algo-1", "algo-2"}));
    member_calls("algo-2");
    REQUIRE(course.runs(course.number()));
    static_cast<void>(course.take_actions());
  }
  /// The only thing to be done now.
  Action only() {
    std::vector<Action> actions = course.take_actions();
    REQUIRE(actions.size() == 1);
    return actions.front();
  }
  void step_to(Duration after) {
    now += after;
    course.step(now);
  }
};

}  // namespace muster::calls
