#include "job/machine_name.h"

#include <doctest/doctest.h>

using namespace muster::job;

TEST_CASE("machine name: one job name in two state folders is two names") {
  const std::string one = machine_name("demo", "/var/lib/muster/jobs/demo");
  const std::string two = machine_name("demo", "/srv/data/machine/jobs/demo");
  CHECK(one.starts_with("demo."));
  CHECK(one.size() == 13);
  CHECK(one != two);
  CHECK(machine_name("demo", "/var/lib/muster//jobs/demo/") == one);
  CHECK(machine_name("other", "/var/lib/muster/jobs/other").substr(5) == one.substr(4));
}
