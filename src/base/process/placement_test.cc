#include "base/process/placement.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster {
namespace {

/// Exit code of a child that runs `work`: a test program keeps its own place.
template <class Work>
int in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("placement: a process runs on the processors that it is limited to") {
  const Cpus all = own_cpus();
  REQUIRE(!all.empty());
  CHECK(in_child([&] { return run_on({all.back()}) && own_cpus() == Cpus{all.back()} ? 0 : 1; }) ==
        0);
  CHECK(own_cpus() == all);
  const Result<void> none = run_on({8191});
  REQUIRE(!none);
  CHECK(none.error().text == "cannot set the CPU affinity to CPUs 8191: Invalid argument");
}

TEST_CASE("placement: memory of nodes is preferred") {
  const auto prefer = [] {
    if (has_memory_policy()) return 1;
    if (!prefer_memory_of({0})) return 77;
    return has_memory_policy() ? 0 : 2;
  };
  const int code = in_child(prefer);
  if (code == 77) {
    MESSAGE("skipped: this kernel has no NUMA");
    return;
  }
  CHECK(code == 0);
  CHECK(!prefer_memory_of({1023}));
  CHECK(!has_memory_policy());
}

}  // namespace
}  // namespace muster
