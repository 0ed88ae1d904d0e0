#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.h"
#include "container/bundle/bundle.h"

namespace muster::container {
namespace {

TEST_CASE("bundle: a host next to its GPUs has its place from its first process on") {
  job::HostSpec spec;
  spec.spec.name = "demo";
  spec.host = "algo-1";
  spec.hosts = {{"algo-1", "10.0.0.1"}};
  spec.near = {.cpus = "0-7", .nodes = "0", .ranks = "0:0-7 1:8-15"};
  Facts facts;
  const auto line = [&] { return join(first_process(spec, facts).argv, " "); };
  CHECK(line().find("sm init --lifeline 4 -- ") != std::string::npos);
  facts.is_near_gpus = true;
  CHECK(line().find("sm init --lifeline 4 --cpus 0-7 --memory-nodes 0 -- ") != std::string::npos);
  CHECK(join(first_process_in(spec, facts, {.argv = {"x"}, .env = {}, .cwd = {}}).argv, " ")
            .find("sm init --lifeline 4 --cpus 0-7 --memory-nodes 0 -- x ") != std::string::npos);
  facts.cpus = "2-3";  // The control group's.
  CHECK(line().find("sm init --lifeline 4 --memory-nodes 0 -- ") != std::string::npos);
  CHECK(host_environment(spec).at(job::numa_variable) == "0:0-7 1:8-15");
  spec.spec.environment = {{job::numa_variable, job::numa_off}};
  CHECK(host_environment(spec).at(job::numa_variable) == "off");
}

}  // namespace
}  // namespace muster::container
