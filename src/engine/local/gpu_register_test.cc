#include "engine/local/gpu_register.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "engine/job_folder.h"

namespace muster::local {
namespace {

std::vector<devices::Gpu> two_gpus() {
  return {{"a.b/gpu=0", "a.b/gpu", {.nodes = {{"/dev/g0", "/dev/g0"}}}, {}},
          {"a.b/gpu=1", "a.b/gpu", {.nodes = {{"/dev/g1", "/dev/g1"}}}, {}}};
}

TEST_CASE("gpu register: a job's GPUs are its own for as long as it lives, in every state folder") {
  const std::string path = *make_private_folder("/tmp", "muster-gpus-");
  const std::string file = path + "/run/gpus";
  const auto allocate = [&](const engine::JobFolder& folder, int count) {
    return allocate_gpus(file, folder.path(), two_gpus(), {{"algo-1", count}}, {});
  };
  Result<engine::JobFolder> one = engine::JobFolder::create(path + "/a", "one");
  Result<engine::JobFolder> other = engine::JobFolder::create(path + "/b", "other");
  REQUIRE(one);
  REQUIRE(other);
  CHECK(allocate(*one, 1)->at(0)[0].name == "a.b/gpu=0");
  CHECK(allocate(*other, 2).error().text ==
        "the job needs 2 GPUs, but only 1 of 2 GPUs on this machine are free (a.b/gpu=0 is used by "
        "algo-1 of "
        "one)");
  CHECK(allocate(*other, 1)->at(0)[0].name == "a.b/gpu=1");
  CHECK(*read_file(file) ==
        "algo-1\t/dev/g0\t" + one->path() + "\nalgo-1\t/dev/g1\t" + other->path() + "\n");
  REQUIRE(one->remove());
  Result<engine::JobFolder> third = engine::JobFolder::create(path + "/a", "third");
  REQUIRE(third);
  CHECK(allocate(*third, 1)->at(0)[0].name == "a.b/gpu=0");
  REQUIRE(third->remove());
  REQUIRE(other->remove());
  REQUIRE(remove_tree(path));
}

TEST_CASE("gpu register: invalid lines are dropped") {
  const std::string path = *make_private_folder("/tmp", "muster-gpus-");
  const std::string file = path + "/gpus";
  REQUIRE(write_file(file, "garbage\nalgo-1\t/dev/g0\t/nowhere\n\t\t\n"));
  CHECK(allocate_gpus(file, path, two_gpus(), {{"algo-1", 2}}, {})->at(0).size() == 2);
  REQUIRE(remove_tree(path));
}

}  // namespace
}  // namespace muster::local
