#include "steward/checkpoint_sync.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "job/journal.h"
#include "loop/testing.h"
#include "s3client/memory_store.h"
#include "steward/folders.h"

namespace muster::steward {
namespace {

/// A host's checkpoints, kept in memory; what is told.
struct Bench {
  Bench() : path(*make_private_folder("/tmp", "muster-sync-")), folder(path + "/checkpoints") {
    REQUIRE(make_folders(folder));
  }
  ~Bench() { CHECK(remove_tree(path)); }

  /// Runs a sync around what `host` does.
  void run(const std::function<void()>& host) {
    loop::Loop loop;
    CheckpointSync::Options options{.folder = folder};
    options.tell_stored = [this](const std::string& line) { stored.push_back(line); };
    std::unique_ptr<CheckpointPlace> place = checkpoints_in_s3(store, {"bucket", "key"});
    auto sync = *CheckpointSync::start(loop, std::move(place), std::move(options),
                                       [this](const std::string& line) { told.push_back(line); });
    host();
    loop::run_task(loop, finish(*sync));
  }
  static loop::Task<> finish(CheckpointSync& sync) {
    const Result<void> stored = co_await sync.finish();
    CHECK(stored);
  }

  std::string path, folder;
  std::shared_ptr<s3client::MemoryStore> store = std::make_shared<s3client::MemoryStore>();
  std::vector<std::string> told, stored;
};

TEST_CASE("checkpoints: what lies too deep is told of once, the rest is stored") {
  Bench bench;
  std::string deepest;
  bench.run([&] {
    Fd at(::open(bench.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 1; depth <= 3000; ++depth) {
      REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
      at = Fd(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (depth <= 64) deepest += "/d";
      if (depth == 64 || depth == 65 || depth == 3000)
        REQUIRE(Fd(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
    }
  });
  REQUIRE(bench.store->objects.size() == 1);
  CHECK(bench.store->objects.begin()->first == "s3://bucket/key" + deepest + "/file");
  REQUIRE(bench.told.size() == 1);
  CHECK(bench.told[0].starts_with("checkpoints: what lies deeper than 64 folders is not stored"));
}

TEST_CASE(
    "checkpoints: that files are stored is told soon, and not of each; of restored ones never") {
  Bench bench;
  REQUIRE(write_file(bench.folder + "/restored", "earlier"));
  bench.run([] {});
  CHECK(bench.stored.empty());
  bench.run([&] {
    for (const char* name : {"a", "b", "c"}) REQUIRE(write_file(bench.folder + "/" + name, name));
  });
  CHECK(bench.store->objects.size() == 3);
  REQUIRE(bench.stored.size() == 1);
  CHECK(bench.stored[0].starts_with(job::checkpoint_stored));
  CHECK(bench.told.empty());
}

TEST_CASE("checkpoints: links, pipes and a folder that a link has replaced lead nowhere") {
  Bench bench;
  REQUIRE(make_folders(bench.path + "/outside"));
  REQUIRE(write_file(bench.path + "/outside/secret", "not the job's"));
  bench.run([&] {
    REQUIRE(::symlink((bench.path + "/outside/secret").c_str(), (bench.folder + "/link").c_str()) ==
            0);
    REQUIRE(::symlink((bench.path + "/outside").c_str(), (bench.folder + "/folder").c_str()) == 0);
    REQUIRE(::mkfifo((bench.folder + "/pipe").c_str(), 0600) == 0);
    REQUIRE(write_file(bench.folder + "/own", "own"));
    REQUIRE(::rename(bench.folder.c_str(), (bench.path + "/moved").c_str()) == 0);
    REQUIRE(::symlink((bench.path + "/outside").c_str(), bench.folder.c_str()) == 0);
  });
  CHECK(bench.store->objects == std::map<std::string, std::string>{{"s3://bucket/key/own", "own"}});
}

}  // namespace
}  // namespace muster::steward
