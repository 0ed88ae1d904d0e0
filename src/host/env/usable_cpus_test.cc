#include "host/env/usable_cpus.h"

#include <doctest/doctest.h>
#include <sched.h>

namespace muster::env {
namespace {

TEST_CASE("cpus: a cgroup's quota in whole processors") {
  CHECK(cpus_of_quota("200000 100000\n", 8) == 2);
  CHECK(cpus_of_quota("150000 100000", 8) == 2);
  CHECK(cpus_of_quota("10000 100000", 8) == 1);
  CHECK(cpus_of_quota("9000000 100000", 8) == 8);
  for (const char* none : {"max 100000\n", "", "max", "0 100000", "200000 0", "-1 100000", "a b"}) {
    CAPTURE(none);
    CHECK(cpus_of_quota(none, 8) == 8);
  }
}

TEST_CASE("cpus: a program that may use one processor counts one") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(usable_cpus() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof(before), &before) == 0);
}

}  // namespace
}  // namespace muster::env
