#include "machine/steward/checkpoint_sync.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aws/s3client/memory_store.h"
#include "base/fd.h"
#include "job/wire/journal.h"
#include "machine/housing/folders.h"
#include "net/loop/testing.h"
#include "net/loop/wait.h"

namespace muster::steward {
namespace {

/// A host's checkpoints, kept in memory, and the reported lines.
struct Bench {
  Bench() : path(*make_private_folder("/tmp", "muster-sync-")), folder(path + "/checkpoints") {
    REQUIRE(make_folders(folder));
  }
  ~Bench() { CHECK(remove_tree(path)); }

  /// Runs a sync around what `host` does.
  void run(const std::function<void()>& host, std::size_t files_max = 1000) {
    loop::Loop loop;
    CheckpointSync::Options options{.folder = folder, .files_max = files_max};
    options.tell_stored = [this](const std::string& line) { stored.push_back(line); };
    std::unique_ptr<CheckpointPlace> place = checkpoints_in_s3(store, {"bucket", "key"});
    auto sync = *CheckpointSync::start(loop, std::move(place), std::move(options),
                                       [this](const std::string& line) { told.push_back(line); });
    host();
    loop::run_task(loop, finish(*sync, ended));
    if (files_max == 1000) CHECK(ended);
  }
  static loop::Task<> finish(CheckpointSync& sync, Result<void>& ended) {
    ended = co_await sync.finish();
  }

  std::string path, folder;
  std::shared_ptr<s3client::MemoryStore> store = std::make_shared<s3client::MemoryStore>();
  std::vector<std::string> told, stored;
  Result<void> ended;
};

/// Makes so many small files in so many folders with long names in each other.
void make_files(const std::string& folder, int count, int folders, std::size_t name_bytes) {
  Fd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string inner(name_bytes, 'd');
  for (int i = 0; i < folders; ++i) {
    REQUIRE(::mkdirat(at.get(), inner.c_str(), 0700) == 0);
    at = Fd(::openat(at.get(), inner.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const std::string start(name_bytes, 'f');
  for (int i = 0; i < count; ++i) {
    const std::string name = start + std::to_string(i);
    const Fd file(::openat(at.get(), name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(write_all(file.get(), "x"));
  }
}

/// Takes any path, and nothing ever gets there.
class SilentPlace final : public CheckpointPlace {
 public:
  explicit SilentPlace(loop::Loop& loop) : never_(loop) {}
  loop::Task<Result<void>> store(std::string, std::string, std::function<bool()>) override {
    co_await never_.wait();
    co_return Result<void>();
  }

 private:
  loop::Event never_;
};

/// What has happened so far is taken notice of.
loop::Task<> pass_turns(loop::Loop& loop) {
  loop::Timer turn(loop);
  for (int i = 0; i < 50; ++i) co_await turn.after(Duration::zero());
}

/// Bytes that the program has from malloc; 0 under a sanitizer, which has another one.
std::size_t used_bytes() {
  return ::mallinfo2().uordblks;
}

TEST_CASE("checkpoints: files that lie too deep are reported once, the rest is stored") {
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
  CHECK(bench.told[0].starts_with("checkpoints: files deeper than 64 folders are not stored"));
}

TEST_CASE(
    "checkpoints: storing is reported soon, but not for each file, and never for restored ones") {
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

TEST_CASE("checkpoints: neither long paths nor a slow place fill the memory") {
  constexpr int files = 5000;
  constexpr std::size_t paths_bytes = files * 60 * 241;  // 72 MB.
  for (const bool before : {true, false}) {
    CAPTURE(before);
    Bench bench;
    loop::Loop loop;
    if (before) make_files(bench.folder, files, 60, 240);
    const std::size_t used = used_bytes();
    auto sync = *CheckpointSync::start(loop, std::make_unique<SilentPlace>(loop),
                                       {.folder = bench.folder}, [](const std::string&) {});
    if (!before) make_files(bench.folder, files, 60, 240);
    loop::run_task(loop, pass_turns(loop));
    CHECK(used_bytes() < used + paths_bytes / 10);
  }
}

TEST_CASE("checkpoints: all files are stored, also if more are written than the queue holds") {
  Bench bench;
  bench.run([&] { make_files(bench.folder, 6000, 1, 200); }, 10'000);
  CHECK(bench.ended);
  CHECK(bench.store->objects.size() == 6000);
  CHECK(bench.told.empty());
}

TEST_CASE(
    "checkpoints: a file whose key is too long is reported and skipped, the others are stored") {
  Bench bench;
  bench.run([&] {
    make_files(bench.folder, 12, 5, 203);  // 5 * 204 + 204 bytes.
    make_files(bench.folder, 1, 0, 200);
  });
  CHECK(bench.store->objects.size() == 1);
  CHECK(bench.told.size() == 11);
  CHECK(bench.told[0].starts_with("checkpoint skipped: a path of 122"));
  CHECK(bench.told[0].find(" bytes exceeds the limit of 1020: ddd") != std::string::npos);
  CHECK(bench.told.back() == "checkpoints: 12 files skipped: their paths are too long");
}

TEST_CASE("checkpoints: more files than the limit fail the job, with their count") {
  Bench bench;
  bench.run([&] { make_files(bench.folder, 12, 0, 1); }, 10);
  REQUIRE(!bench.ended);
  CHECK(bench.ended.error().text == "12 files exceed the limit of 10");
  CHECK(bench.store->objects.size() < 12);  // Two are under way at a time.
}

}  // namespace
}  // namespace muster::steward
