#include "engine/job_folder.h"

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remove_tree.h"
#include "base/text.h"
#include "engine/network.h"

namespace muster::engine {
namespace {

struct State {
  State() : path(*make_private_folder("/tmp", "muster-engine-")) {}
  ~State() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

TEST_CASE("job folder: private, locked, with a key of 32 random bytes") {
  State state;
  Result<JobFolder> job = JobFolder::create(state.path, "demo");
  REQUIRE(job);
  CHECK(job->path() == state.path + "/jobs/demo");
  CHECK(mode_of(job->path()) == 0700);
  CHECK(mode_of(job->key_file()) == 0600);
  const std::string key = trim(*read_file(job->key_file()));
  CHECK(from_hex(key)->size() == 32);
  CHECK(JobFolder::living(state.path) == std::vector<std::string>{"demo"});
  const std::string path = job->path();
  REQUIRE(job->remove());
  CHECK(::access(path.c_str(), F_OK) != 0);
  CHECK(::rmdir((state.path + "/jobs").c_str()) == 0);  // Nothing else is left there.
  CHECK(JobFolder::living(state.path).empty());
}

TEST_CASE("job folder: a name in use is refused, with what to do about it") {
  State state;
  {
    Result<JobFolder> job = JobFolder::create(state.path, "demo");
    REQUIRE(job);
    const Result<JobFolder> again = JobFolder::create(state.path, "demo");
    REQUIRE(!again);
    CHECK(again.error().code == Errc::invalid_input);
    CHECK(again.error().text.find("demo runs on this machine") != std::string::npos);
    REQUIRE(job->keep());
  }
  const Result<JobFolder> kept = JobFolder::create(state.path, "demo");
  REQUIRE(!kept);
  CHECK(kept.error().text.find("sm clean") != std::string::npos);
  CHECK(JobFolder::create(state.path, "other"));
}

TEST_CASE("network: jobs that live never share one; a dead job's is used again") {
  State state;
  const std::string file = state.path + "/run/subnets";
  Result<JobFolder> one = JobFolder::create(state.path, "one");
  Result<JobFolder> two = JobFolder::create(state.path, "two");
  REQUIRE(one);
  REQUIRE(two);
  const Network first = *allocate_network(file, one->path(), "");
  const Network second = *allocate_network(file, two->path(), "");
  CHECK(cidr(first.subnet) == "10.177.0.0/24");
  CHECK(cidr(second.subnet) == "10.177.1.0/24");
  CHECK(first.bridge != second.bridge);
  CHECK(first.bridge.size() == 10);
  REQUIRE(one->remove());
  Result<JobFolder> three = JobFolder::create(state.path, "three");
  CHECK(cidr(allocate_network(file, three->path(), "")->subnet) == "10.177.0.0/24");
}

TEST_CASE("network: a register that was damaged does not stop a job") {
  State state;
  const std::string file = state.path + "/subnets";
  REQUIRE(write_file(file, "nonsense\n10.177.0.0/24\n10.177.0.0/24 mu1 /no/such/job\n\n"));
  Result<JobFolder> job = JobFolder::create(state.path, "demo");
  CHECK(cidr(allocate_network(file, job->path(), "")->subnet) == "10.177.0.0/24");
}

}  // namespace
}  // namespace muster::engine
