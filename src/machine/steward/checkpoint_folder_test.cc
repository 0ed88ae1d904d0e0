#include "machine/steward/checkpoint_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/files/folder.h"
#include "machine/housing/folders.h"
#include "net/loop/testing.h"

namespace muster::steward {
namespace {

using Names = std::vector<std::string>;

struct stat status_of(const std::string& path) {
  struct stat status {};
  CHECK(::lstat(path.c_str(), &status) == 0);
  return status;
}

/// A folder that checkpoints are kept in, and a host's.
struct Bench {
  Bench() : path(*make_private_folder("/tmp", "muster-kept-")) {
    REQUIRE(make_folders(kept));
    REQUIRE(make_folders(host));
  }
  ~Bench() { CHECK(remove_tree(path)); }

  /// Stores the content of the host's `file` under its name.
  Result<void> store(const std::string& file, std::optional<Owner> owner = {}) {
    loop::Loop loop;
    const std::unique_ptr<CheckpointPlace> place =
        checkpoints_in_folder(loop, *open_checkpoint_folder(kept), owner);
    Result<void> done;
    loop::run_task(loop, store_one(*place, host + "/" + file, file, current, done));
    return done;
  }
  int restore(const std::string& to) const {
    return restore_checkpoints(*open_checkpoint_folder(kept), to);
  }
  static loop::Task<> store_one(CheckpointPlace& place, std::string from, std::string name,
                                const bool& current, Result<void>& done) {
    std::function<bool()> is_current = [&current] { return current; };
    done = co_await place.store(std::move(from), std::move(name), std::move(is_current));
  }
  void write(const std::string& file, const std::string& text) const {
    REQUIRE(write_file(host + "/" + file, text));
  }

  bool current = true;  ///< What the file that is stored still is.
  const std::string path;
  const std::string kept = path + "/kept", host = path + "/host";
};

TEST_CASE("checkpoint folder: a file is stored whole, with its time, without set-id bits") {
  Bench bench;
  REQUIRE(make_folders(bench.host + "/step/1"));
  bench.write("step/1/model", "first");
  REQUIRE(::chmod((bench.host + "/step/1/model").c_str(), 06755) == 0);
  REQUIRE(bench.store("step/1/model"));
  const std::string kept = bench.kept + "/step/1/model";
  CHECK(*read_file(kept) == "first");
  CHECK((status_of(kept).st_mode & 07777) == 0755);
  const timespec there = status_of(kept).st_mtim;
  const timespec here = status_of(bench.host + "/step/1/model").st_mtim;
  CHECK(there.tv_sec == here.tv_sec);
  CHECK(there.tv_nsec == here.tv_nsec);

  bench.write("step/1/model", "second");  // Another host's, say: stored last, it stays.
  REQUIRE(bench.store("step/1/model"));
  CHECK(*read_file(kept) == "second");
  CHECK(*names_in(bench.kept + "/step/1") == Names{"model"});
}

TEST_CASE("checkpoint folder: files and new folders are the owner's") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  REQUIRE(make_folders(bench.host + "/inner"));
  bench.write("inner/file", "x");
  REQUIRE(bench.store("inner/file", Owner{4321, 8765}));
  for (const char* name : {"/inner", "/inner/file"}) {
    CHECK(status_of(bench.kept + name).st_uid == 4321);
    CHECK(status_of(bench.kept + name).st_gid == 8765);
  }
}

TEST_CASE(
    "checkpoint folder: a file that cannot be stored is reported, and leaves nothing behind") {
  Bench bench;
  REQUIRE(make_folders(bench.host + "/elsewhere"));
  REQUIRE(make_folders(bench.path + "/outside"));
  bench.write("file", "x");
  bench.write("elsewhere/file", "x");
  REQUIRE(make_folders(bench.kept + "/file"));
  const Result<void> over_folder = bench.store("file");
  REQUIRE(!over_folder);
  CHECK(over_folder.error().text == "cannot rename " + bench.kept + "/file: Is a directory");
  REQUIRE(::rmdir((bench.kept + "/file").c_str()) == 0);
  bench.current = false;  // Renamed, say, when its bytes had been copied.
  const Result<void> no_more = bench.store("file");
  REQUIRE(!no_more);
  CHECK(no_more.error().text == bench.kept + "/file: the file changed while it was being stored");
  CHECK(names_in(bench.kept)->empty());
  bench.current = true;
  // The folder's owner could lead root anywhere by a link.
  REQUIRE(::symlink((bench.path + "/outside").c_str(), (bench.kept + "/elsewhere").c_str()) == 0);
  const Result<void> through_link = bench.store("elsewhere/file");
  REQUIRE(!through_link);
  CHECK(through_link.error().text.starts_with("cannot open " + bench.kept + "/elsewhere: "));
  CHECK(names_in(bench.path + "/outside")->empty());
  CHECK(*names_in(bench.kept) == Names{"elsewhere"});
}

TEST_CASE("checkpoint folder: a killed steward's drafts are removed, a living one's stay") {
  Bench bench;
  REQUIRE(make_folders(bench.kept + "/inner"));
  for (const char* name : {"/inner/.muster-partial-dead", "/.muster-partial-living"})
    REQUIRE(write_file(bench.kept + name, "half"));
  const Fd living(::open((bench.kept + "/.muster-partial-living").c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::flock(living.get(), LOCK_EX) == 0);
  bench.write("file", "x");
  REQUIRE(bench.store("file"));
  CHECK(names_in(bench.kept + "/inner")->empty());
  CHECK(*names_in(bench.kept) == Names{".muster-partial-living", "file", "inner"});
  CHECK(bench.restore(bench.host + "/") == EEXIST);  // "file" is there.
}

TEST_CASE("checkpoint folder: it is restored with times, modes and links, and no more") {
  Bench bench;
  REQUIRE(make_folders(bench.kept + "/inner"));
  REQUIRE(write_file(bench.kept + "/inner/file", "text", 0640));
  REQUIRE(write_file(bench.kept + "/.muster-partial-1", "half"));
  REQUIRE(::symlink("inner/file", (bench.kept + "/last").c_str()) == 0);
  REQUIRE(::mkfifo((bench.kept + "/pipe").c_str(), 0600) == 0);
  const timespec times[2] = {{1000, 5}, {2000, 7}};
  REQUIRE(::utimensat(AT_FDCWD, (bench.kept + "/inner/file").c_str(), times, 0) == 0);
  CHECK(bench.restore(bench.host) == 0);
  CHECK(*names_in(bench.host) == Names{"inner", "last"});
  CHECK(*read_file(bench.host + "/last") == "text");
  CHECK(std::filesystem::read_symlink(bench.host + "/last") == "inner/file");
  CHECK(status_of(bench.host + "/inner/file").st_mtim.tv_sec == 2000);
  CHECK((status_of(bench.host + "/inner/file").st_mode & 07777) == 0640);
  CHECK(bench.restore(bench.path + "/none") == ENOENT);
  CHECK(open_checkpoint_folder(bench.path + "/none").error().code == Errc::not_found);
}

TEST_CASE(
    "checkpoint folder: if its owner replaces it, the replacement is neither read nor written") {
  Bench bench;
  bench.write("file", "x");
  REQUIRE(make_folders(bench.path + "/precious"));
  REQUIRE(write_file(bench.path + "/precious/secret", "secret"));
  REQUIRE(write_file(bench.kept + "/earlier", "1"));
  const CheckpointFolder folder = *open_checkpoint_folder(bench.kept);
  REQUIRE(::rename(bench.kept.c_str(), (bench.path + "/away").c_str()) == 0);
  REQUIRE(::symlink((bench.path + "/precious").c_str(), bench.kept.c_str()) == 0);
  CHECK(restore_checkpoints(folder, bench.host) == 0);
  CHECK(*names_in(bench.host) == Names{"earlier", "file"});
  loop::Loop loop;
  const std::unique_ptr<CheckpointPlace> place = checkpoints_in_folder(loop, folder, {});
  Result<void> done;
  loop::run_task(loop, Bench::store_one(*place, bench.host + "/file", "file", bench.current, done));
  CHECK(done);
  CHECK(*names_in(bench.path + "/precious") == Names{"secret"});
  CHECK(*names_in(bench.path + "/away") == Names{"earlier", "file"});
}

TEST_CASE("checkpoint folder: a link of another user's is not opened") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  const std::string link = bench.path + "/link";
  REQUIRE(::symlink(bench.kept.c_str(), link.c_str()) == 0);
  CHECK(open_checkpoint_folder(link));
  REQUIRE(::lchown(link.c_str(), 4321, 8765) == 0);
  for (const std::string& path : {link, link + "/below"}) {
    const Result<CheckpointFolder> refused = open_checkpoint_folder(path);
    REQUIRE(!refused);
    CHECK(refused.error().text.starts_with(link + ": this symbolic link belongs to user 4321"));
  }
}

}  // namespace
}  // namespace muster::steward
