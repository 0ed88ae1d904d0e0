#include "machine/sampler/flights.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/fd.h"

namespace muster::sampler {
namespace {

namespace fs = std::filesystem;

/// A host's root folder with its dumps, of which rank 1's is recorded.
struct Root {
  Root() {
    fs::create_directories(dumps);
    copy("rank_1");
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { fs::remove_all(path); }
  void copy(const std::string& name) const {
    fs::copy_file(MUSTER_SOURCE_DIR "/tests/data/flight_records/rank_1", dumps + "/" + name);
  }
  std::vector<int> ranks() const {
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::vector<int> all;
    for (const job::Flight& flight : flights_below(folder)) all.push_back(flight.rank);
    return all;
  }
  const std::string path = *make_private_folder("/tmp", "muster-flights-");
  const std::string dumps = path + "/opt/ml/output/data/nccl";
};

TEST_CASE("flights: dumps are read by the ranks in their names") {
  const Root root;
  root.copy("rank_12");
  for (const char* name : {"rank_", "rank_x", "rank_-1", "rank_1.tmp", "other"}) root.copy(name);
  CHECK(root.ranks() == std::vector<int>{1, 12});
  REQUIRE(write_file(root.dumps + "/rank_2", "not a dump"));
  CHECK(root.ranks() == std::vector<int>{1, 12});
  fs::remove_all(root.path + "/opt");
  CHECK(root.ranks().empty());
}

TEST_CASE("flights: a job's links, pipes and endless files are not read") {
  const Root root;
  REQUIRE(::symlink((root.dumps + "/rank_1").c_str(), (root.dumps + "/rank_2").c_str()) == 0);
  REQUIRE(::mkfifo((root.dumps + "/rank_3").c_str(), 0600) == 0);
  REQUIRE(::mkdir((root.dumps + "/rank_4").c_str(), 0700) == 0);
  root.copy("rank_5");
  REQUIRE(::truncate((root.dumps + "/rank_5").c_str(), off_t{1} << 40) == 0);
  CHECK(root.ranks() == std::vector<int>{1});
  // A folder that is a link leads nowhere, either.
  fs::rename(root.dumps, root.path + "/elsewhere");
  REQUIRE(::symlink((root.path + "/elsewhere").c_str(), root.dumps.c_str()) == 0);
  CHECK(root.ranks().empty());
}

TEST_CASE("flights: at most 64 dumps are read") {
  const Root root;
  for (int rank = 100; rank < 200; ++rank) root.copy("rank_" + std::to_string(rank));
  CHECK(root.ranks().size() == 64);
}

}  // namespace
}  // namespace muster::sampler
