#include <doctest/doctest.h>

#include "base/process/placement.h"
#include "base/text.h"
#include "host/ranks/rank_testing.h"

using namespace muster;
using namespace muster::ranks;

namespace {

/// The processors on which a rank's program runs, and how much of its memory has a preferred node.
std::string place_in(Host& host, const Env& env, const Args& line = {}) {
  host.run.command.argv = shell(
      "echo \"$(grep Cpus_allowed_list /proc/self/status | cut -f2);$(grep -c prefer "
      "/proc/self/numa_maps)\"");
  if (line.empty())
    host.start(0, env);
  else
    host.start_line(0, line, env);
  loop::run_task(host.loop, host.until_ended(0), guard);
  return trim(host.out(0));
}

}  // namespace

TEST_CASE("rank: it runs next to its GPU, unless something has bound it before") {
  const Cpus own = own_cpus();
  if (own.size() < 2) {
    MESSAGE("skipped: one processor alone");
    return;
  }
  const std::string last = std::to_string(own.back());
  const std::string place = "0:" + last + " 0:" + cpu_list(own);
  {
    Host host;
    host.place = place;
    const std::string text = place_in(host, {});
    CHECK(text.starts_with(last + ";"));
    CHECK(text != last + ";0");  // The memory there is preferred.
    CHECK(host.hellos.at(0).local_size == -1);
  }
  {
    Host host;
    host.place = place;
    const Env env{{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}};
    const Args line{"--", "/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status | cut -f2"};
    CHECK(place_in(host, env, line) == last);
    CHECK(host.hellos.at(0).local_size == 2);
  }
  for (const std::string& other : {std::string(), std::string("x"), "0:" + last + " 0:0-8000"}) {
    CAPTURE(other);
    Host host;
    host.place = other;
    CHECK(place_in(host, {}) == cpu_list(own) + ";0");
  }
}
