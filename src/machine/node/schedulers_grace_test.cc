#include "machine/node/schedulers_grace.h"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using muster::node::SchedulersGrace;

TEST_CASE("schedulers_grace: the smaller of the job's and the scheduler's, which is said") {
  const SchedulersGrace enough{20s, 30s, 0s};
  CHECK(enough.ordinary() == 20s);
  CHECK(enough.note().empty());

  const SchedulersGrace cut{120s, 30s, 0s};
  CHECK(cut.ordinary() == 26s);
  CHECK(cut.preempted() == 26s);
  CHECK(cut.note() ==
        "when the job is stopped, processes have 26 s to exit instead of the 120 s of the job, "
        "because Slurm's KillWait is 30 s");

  const SchedulersGrace preemptible{120s, 30s, 60s};
  CHECK(preemptible.ordinary() == 26s);
  CHECK(preemptible.preempted() == 86s);
  CHECK(preemptible.note() ==
        cut.note() + "; 86 s if the job is preempted, because GraceTime is 60 s");
}

TEST_CASE("schedulers_grace: a scheduler that kills at once leaves nothing") {
  CHECK(SchedulersGrace{20s, 1s, 0s}.ordinary() == 0s);
}
