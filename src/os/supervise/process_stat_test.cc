#include "os/supervise/process_stat.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace muster::supervise {
namespace {

TEST_CASE("process stat: a name may hold anything") {
  const ProcessStat stat =
      stat_from("42 (a) R (b) S 7 42 42 0 -1 4194304 100 0 3 0 11 22 5 6 20 0 4 0 555 9");
  CHECK(stat.state == 'S');
  CHECK(stat.parent == 7);
  CHECK(stat.faults == 103);
  CHECK(stat.ticks == 33);
  CHECK(stat.children_ticks == 11);
  CHECK(stat.threads == 4);
  CHECK(stat.started == 555);
  CHECK(stat_from("").state == '?');
  CHECK(stat_from("1 (x) S").parent == 0);
}

TEST_CASE("process stat: a zombie has ended, unless threads of it run") {
  CHECK(ProcessStat{.state = 'Z', .threads = 1}.has_ended());
  CHECK(!ProcessStat{.state = 'Z', .threads = 2}.has_ended());
  CHECK(!ProcessStat{.state = 'S', .threads = 1}.has_ended());
}

TEST_CASE("process stat: of an existing process, and of a missing one") {
  CHECK(stat_of(::getpid())->parent == ::getppid());
  CHECK(stat_of(::getpid())->started > 0);
  CHECK(!stat_of(-1));
}

}  // namespace
}  // namespace muster::supervise
