#include "engine/local/job_network.h"

#include <doctest/doctest.h>

#include "base/files/remove_tree.h"
#include "engine/job_folder.h"

namespace muster::local {
namespace {

using engine::JobFolder;

struct State {
  State() : path(*make_private_folder("/tmp", "muster-engine-")) {}
  ~State() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

TEST_CASE("network: jobs that live never share one, a dead job's is used again") {
  State state;
  const std::string file = state.path + "/run/subnets";
  Result<JobFolder> one = JobFolder::create(state.path, "one");
  Result<JobFolder> two = JobFolder::create(state.path, "two");
  REQUIRE(one);
  REQUIRE(two);
  const Network first = *allocate_network(file, one->path(), {}, 1 << 20);
  const Network second = *allocate_network(file, two->path(), {}, 1 << 20);
  CHECK(cidr(first.subnet) == "10.177.0.0/24");
  CHECK(cidr(second.subnet) == "10.177.1.0/24");
  CHECK(first.bridge != second.bridge);
  CHECK(first.bridge.size() == 10);
  CHECK(first.first_id == 1 << 20);
  CHECK(second.first_id == (1 << 20) + 65536);
  REQUIRE(one->remove());
  Result<JobFolder> three = JobFolder::create(state.path, "three");
  CHECK(cidr(allocate_network(file, three->path(), {}, 1 << 20)->subnet) == "10.177.0.0/24");
}

TEST_CASE("network: a job in a VPC gets a network of the machine outside of its VPC") {
  State state;
  const std::string file = state.path + "/subnets";
  job::Spec spec;
  CHECK(taken_for(spec, "")->empty());
  spec.vpc.emplace();
  spec.vpc->cidr = "10.177.0.0/16";
  const std::vector<Subnet> taken = *taken_for(spec, "");
  Result<JobFolder> job = JobFolder::create(state.path, "demo");
  CHECK(cidr(allocate_network(file, job->path(), taken, 1 << 20)->subnet) == "172.29.0.0/24");
}

TEST_CASE("network: ids of jobs never meet, and end where programs go wrong") {
  CHECK(*choose_ids(100'000, {}) == 100'000);
  CHECK(*choose_ids(100'000, {100'000, 165'536 + 1}) == 100'000 + 3 * 65536);
  CHECK(*choose_ids(100'000, {35'000}) == 165'536);
  CHECK(choose_ids((std::int64_t{1} << 31) - 65535, {}).error().code == Errc::system);
}

TEST_CASE("network: a register that was damaged does not stop a job") {
  State state;
  const std::string file = state.path + "/subnets";
  REQUIRE(write_file(file, "nonsense\n10.177.0.0/24\n10.177.0.0/24 mu1 7 /no/such/job\n\n"));
  Result<JobFolder> job = JobFolder::create(state.path, "demo");
  CHECK(cidr(allocate_network(file, job->path(), {}, 1 << 20)->subnet) == "10.177.0.0/24");
}

}  // namespace
}  // namespace muster::local
