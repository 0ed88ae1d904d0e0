#include "engine/cluster/sweep_slurm.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "engine/cluster/notes.h"
#include "engine/job_folder.h"
#include "net/loop/testing.h"

namespace muster::cluster {
namespace {

TEST_CASE("cluster sweep: jobs of dead engines are cancelled by name, and their files removed") {
  const std::string state = *make_private_folder("/tmp", "muster-sweep-");
  REQUIRE(write_file(state + "/scancel", "#!/bin/sh\necho \"$@\" >> " + state + "/told\n", 0755));
  loop::Loop loop;
  supervise::Programs programs(loop);
  Slurm slurm(programs, {{"PATH", state + ":/usr/bin:/bin"}});
  const auto job = [&](const char* name) {
    return *engine::JobFolder::create(state + "/slurm", name);
  };
  {
    const engine::JobFolder dead = job("dead");
    AttemptNote note{.nonce = "0123456789abcdef", .key = std::string(32, 'k')};
    REQUIRE(write_note(dead.path(), note));
    job("halfway");
    engine::JobFolder kept = job("kept");
    REQUIRE(kept.keep());
  }
  const engine::JobFolder living = job("living");
  Swept swept;
  const auto body = [](Slurm& with, std::string path, bool kept_too, Swept& out) -> loop::Task<> {
    out = co_await sweep(with, path, kept_too);
  };
  loop::run_task(loop, body(slurm, state, false, swept));
  CHECK(swept.removed ==
        std::vector<std::string>{"job dead of the cluster", "job halfway of the cluster"});
  CHECK(swept.failed.empty());
  CHECK(read_file(state + "/told").value_or("") == "--name=muster-dead-0123456789abcdef\n");
  CHECK(engine::JobFolder::names(state + "/slurm") == std::vector<std::string>{"kept", "living"});
  loop::run_task(loop, body(slurm, state, true, swept));
  CHECK(engine::JobFolder::names(state + "/slurm") == std::vector<std::string>{"living"});
  static_cast<void>(remove_tree(state));
}

}  // namespace
}  // namespace muster::cluster
