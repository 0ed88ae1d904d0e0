#include "host/calls/intermediate.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "aws/s3client/memory_store.h"
#include "base/fd.h"
#include "host/calls/file_snapshot.h"
#include "net/loop/testing.h"

using namespace muster;
using namespace std::chrono_literals;
using calls::Intermediate;
using loop::Loop;
using loop::Task;
using s3client::MemoryStore;

namespace {

class Folder {
 public:
  Folder() : path_(*make_private_folder("/tmp", "intermediate-test-")) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string output() const { return path_ + "/output/intermediate"; }
  Intermediate::Options options() const {
    return {.folder = output(), .s3_output = "s3://bucket/start", .job_name = "job"};
  }

 private:
  std::string path_;
};

const std::string at = "s3://bucket/start/job/output/intermediate/";

Log quiet() {
  return {-1, "test", Log::Level::error};
}

/// Waits until the store has had `count` uploads.
Task<void> until(Loop& loop, const MemoryStore& store, std::size_t count) {
  loop::Timer pause(loop);
  while (store.uploads.size() < count) co_await pause.after(1ms);
}

TimePoint soon() {
  return Clock::now() + 20s;
}

void write(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  REQUIRE(file);
  REQUIRE(write_all(file.get(), text));
}

std::vector<std::string> copies_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.output() + "/.tmp.sagemaker_s3_sync"))
    names.push_back(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE("intermediate: keys are those of the reference") {
  struct {
    const char* start;
    const char* job;
    const char* want;
  } const cases[] = {
      {"start", "job", "start/job/output/intermediate/a/b"},
      {"start/", "job", "start/job/output/intermediate/a/b"},
      {"/start", "job", "start/job/output/intermediate/a/b"},
      {"a/b", "", "a/b/output/intermediate/a/b"},
      {"", "job", "job/output/intermediate/a/b"},
      {"", "", "output/intermediate/a/b"},
  };
  for (const auto& c : cases) CHECK(calls::intermediate_key(c.start, c.job, "a/b") == c.want);
}

TEST_CASE("intermediate: nothing is done without an output, with a folder, or for file://") {
  Loop loop;
  auto store = std::make_shared<MemoryStore>();
  const Folder folder;
  Intermediate::Options options = folder.options();
  options.s3_output = "";
  Result<std::unique_ptr<Intermediate>> none = Intermediate::start(loop, store, quiet(), options);
  REQUIRE(none);
  CHECK(!*none);
  CHECK(!std::filesystem::exists(folder.output()));
  options.s3_output = "file:///tmp/x";
  none = Intermediate::start(loop, store, quiet(), options);
  REQUIRE(none);
  CHECK(!*none);
  CHECK(std::filesystem::exists(folder.output()));
  none = Intermediate::start(loop, store, quiet(), folder.options());  // Now it exists.
  REQUIRE(none);
  CHECK(!*none);
}

TEST_CASE("intermediate: an output that is not an S3 URL is reported") {
  Loop loop;
  for (const char* bad : {"http://a/b", "s3://", "nonsense"}) {
    CAPTURE(bad);
    const Folder folder;
    Intermediate::Options options = folder.options();
    options.s3_output = bad;
    const auto got = Intermediate::start(loop, std::make_shared<MemoryStore>(), quiet(), options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
  }
}

TEST_CASE("intermediate: files go when they are closed or moved there, in folders old and new") {
  Loop loop;
  const Folder folder;
  auto store = std::make_shared<MemoryStore>();
  auto started = Intermediate::start(loop, store, quiet(), folder.options());
  REQUIRE(started);
  REQUIRE(*started);
  const auto test = [](Loop& on, Intermediate& one, const MemoryStore& with,
                       std::string root) -> Task<void> {
    write(root + "/a", "first");
    co_await until(on, with, 1);
    write(root + "/a", "second");
    co_await until(on, with, 2);
    CHECK(with.objects.at(at + "a") == "second");
    std::filesystem::create_directories(root + "/x/y/z");
    write(root + "/x/y/z/deep", "deep");
    co_await until(on, with, 3);
    write(root + "/../outside", "moved");
    std::filesystem::rename(root + "/../outside", root + "/x/inside");
    co_await until(on, with, 4);
    CHECK(with.objects.at(at + "x/inside") == "moved");
    std::filesystem::rename(root + "/x", root + "/w");  // The folder's files are new ones.
    co_await until(on, with, 6);
    write(root + "/w/y/late", "late");
    co_await until(on, with, 7);
    CHECK(with.objects.at(at + "w/y/late") == "late");
    co_await one.finish(soon());
    CHECK(with.uploads.size() == 7);
  };
  loop::run_task(loop, test(loop, **started, *store, folder.output()));
  CHECK(store->objects.at(at + "x/y/z/deep") == "deep");
  CHECK(copies_in(folder).empty());
}

TEST_CASE("intermediate: finish uploads files that had no event") {
  Loop loop;
  const Folder folder;
  auto store = std::make_shared<MemoryStore>();
  auto started = Intermediate::start(loop, store, quiet(), folder.options());
  REQUIRE(started);
  for (int i = 0; i < 300; ++i) write(folder.output() + "/f" + std::to_string(i), "x");
  write(folder.output() + "/../other", "link");
  std::filesystem::create_hard_link(folder.output() + "/../other", folder.output() + "/hard");
  std::filesystem::create_symlink(folder.output() + "/../other", folder.output() + "/soft");
  std::filesystem::create_symlink("/nonexistent", folder.output() + "/broken");
  REQUIRE(::mkfifo((folder.output() + "/fifo").c_str(), 0600) == 0);
  const auto test = [](Intermediate& one) -> Task<void> { co_await one.finish(soon()); };
  loop::run_task(loop, test(**started));
  CHECK(store->objects.size() == 302);
  CHECK(store->objects.at(at + "hard") == "link");
  CHECK(store->objects.at(at + "soft") == "link");
}

TEST_CASE("intermediate: a copy is uploaded, whatever becomes of the file meanwhile") {
  Loop loop;
  const Folder folder;
  auto store = std::make_shared<MemoryStore>();
  store->on_call = [path = folder.output() + "/a"] { ::unlink(path.c_str()); };
  auto started = Intermediate::start(loop, store, quiet(), folder.options());
  REQUIRE(started);
  write(folder.output() + "/a", "bytes");
  const auto test = [](Intermediate& one) -> Task<void> { co_await one.finish(soon()); };
  loop::run_task(loop, test(**started));
  CHECK(store->objects.at(at + "a") == "bytes");
}

TEST_CASE("intermediate: failures are reported a few times and end nothing") {
  Loop loop;
  const Folder folder;
  auto store = std::make_shared<MemoryStore>();
  store->failure = fail(Errc::denied, "access denied");
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  auto started = Intermediate::start(loop, store, Log(pipe->write.get(), "t", Log::Level::info),
                                     folder.options());
  REQUIRE(started);
  for (int i = 0; i < 30; ++i) write(folder.output() + "/f" + std::to_string(i), "x");
  const auto test = [](Intermediate& one) -> Task<void> { co_await one.finish(soon()); };
  loop::run_task(loop, test(**started));
  std::string said(16384, '\0');
  said.resize(static_cast<std::size_t>(::read(pipe->read.get(), said.data(), said.size())));
  CHECK(std::count(said.begin(), said.end(), '\n') == 11);
  CHECK(said.starts_with("t: warning: intermediate output: " + at + "f0: access denied\n"));
  CHECK(said.ends_with("t: warning: intermediate output: failed uploads in total: 30 files\n"));
  CHECK(copies_in(folder).empty());
}

namespace {

/// Never gets done.
class StuckStore final : public s3client::ObjectStore {
 public:
  explicit StuckStore(Loop& loop) : event_(loop) {}
  Task<Result<void>> download(s3wire::S3Url, std::string) override { return wait(); }
  Task<Result<void>> upload(std::string, s3wire::S3Url) override { return wait(); }

 private:
  Task<Result<void>> wait() {
    co_await event_.wait();
    co_return fail(Errc::closed, "");
  }
  loop::Event event_;
};

}  // namespace

TEST_CASE("intermediate: finish ends at its deadline and counts what is left") {
  Loop loop;
  const Folder folder;
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  auto started =
      Intermediate::start(loop, std::make_shared<StuckStore>(loop),
                          Log(pipe->write.get(), "t", Log::Level::info), folder.options());
  REQUIRE(started);
  write(folder.output() + "/a", "x");
  write(folder.output() + "/b", "x");
  const auto test = [](Intermediate& one) -> Task<void> {
    co_await one.finish(Clock::now() + 100ms);
  };
  loop::run_task(loop, test(**started));
  std::string said(4096, '\0');
  said.resize(static_cast<std::size_t>(::read(pipe->read.get(), said.data(), said.size())));
  CHECK(said == "t: warning: intermediate output: not uploaded in time: 2 files\n");
  started->reset();
  CHECK(copies_in(folder).empty());
}

TEST_CASE("snapshot: a file of many pieces is copied whole") {
  Loop loop;
  const Folder folder;
  REQUIRE(make_folders(folder.output()));
  std::string bytes;
  bytes.resize(20'000'000, 'x');
  bytes[8u << 20] = 'y';
  write(folder.output() + "/a", bytes);
  const auto test = [](Loop& on, std::string root, std::string want) -> Task<void> {
    const Result<calls::Stamp> stamp = co_await calls::snapshot(on, root + "/a", root + "/b");
    REQUIRE(stamp);
    CHECK(*stamp == calls::stamp_of(root + "/a"));
    const bool same = *read_file(root + "/b") == want;
    CHECK(same);
    const Result<calls::Stamp> none = co_await calls::snapshot(on, root + "/c", root + "/d");
    CHECK(none.error().code == Errc::not_found);
    const Result<calls::Stamp> folder_one = co_await calls::snapshot(on, root, root + "/d");
    CHECK(folder_one.error().code == Errc::invalid_input);
    const Result<calls::Stamp> over = co_await calls::snapshot(on, root + "/a", root + "/b");
    CHECK(over.error().code == Errc::system);  // b is there already.
  };
  loop::run_task(loop, test(loop, folder.output(), bytes));
}

TEST_CASE("snapshot: a file on another file system is copied by hand") {
  Loop loop;
  const Folder folder;
  REQUIRE(make_folders(folder.output()));
  const Result<std::string> other = make_private_folder("/dev/shm", "muster-snapshot-");
  if (!other) {
    MESSAGE("skipped: there is no /dev/shm");
    return;
  }
  std::string bytes(3'000'000, 'x');
  bytes[2'500'000] = 'y';
  write(*other + "/a", bytes);
  const auto test = [](Loop& on, std::string from, std::string to) -> Task<void> {
    CHECK(co_await calls::snapshot(on, from, to));
  };
  loop::run_task(loop, test(loop, *other + "/a", folder.output() + "/b"));
  const bool same = read_file(folder.output() + "/b").value_or("") == bytes;
  CHECK(same);
  std::filesystem::remove_all(*other);
}

TEST_CASE(
    "snapshot: the stamp changes when a file is rewritten, also behind a link, but not for a "
    "folder") {
  const Folder folder;
  REQUIRE(make_folders(folder.output()));
  const std::string file = folder.output() + "/a";
  write(file, "one");
  const std::optional<calls::Stamp> before = calls::stamp_of(file);
  std::filesystem::create_symlink(file, folder.output() + "/link");
  CHECK(calls::stamp_of(folder.output() + "/link") == before);
  write(file, "longer");
  CHECK(calls::stamp_of(file) != before);
  CHECK(!calls::stamp_of(folder.output()));
  CHECK(calls::entries_of(folder.output()).size() == 2);
  CHECK(calls::entries_of(folder.output() + "/none").empty());
}
