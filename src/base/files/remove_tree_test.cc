#include "base/files/remove_tree.h"

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/fd.h"

namespace muster {
namespace {

struct Place {
  explicit Place(const char* on = "/tmp") : path(*make_private_folder(on, "muster-remove-")) {}
  ~Place() { CHECK(remove_tree(path)); }
  bool has(const std::string& name) const {
    return ::access((path + "/" + name).c_str(), F_OK) == 0;
  }
  std::string path;
};

/// `depth` folders in each other below `path`, which is made too; each holds a file.
void make_deep(const std::string& path, int depth) {
  REQUIRE(make_folders(path));
  Fd at(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < depth; ++i) {
    const Fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at = Fd(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at);
  }
}

TEST_CASE("remove tree: links are not followed, and a missing tree is fine") {
  const Place place;
  REQUIRE(make_folders(place.path + "/gone/a/b"));
  REQUIRE(make_folders(place.path + "/stays"));
  REQUIRE(write_file(place.path + "/stays/file", "x"));
  REQUIRE(::symlink("../stays", (place.path + "/gone/link").c_str()) == 0);
  REQUIRE(::symlink("stays", (place.path + "/link").c_str()) == 0);
  REQUIRE(remove_tree(place.path + "/gone/"));
  REQUIRE(remove_tree(place.path + "/link"));
  CHECK(!place.has("gone"));
  CHECK(!place.has("link"));
  CHECK(place.has("stays/file"));
  CHECK(remove_tree(place.path + "/gone"));
  CHECK(remove_tree(place.path + "/no/such/place"));
  CHECK(remove_tree(place.path + "/stays/file"));
  CHECK(!remove_tree("/"));
  CHECK(!remove_tree(place.path + "/stays/.."));
  CHECK(place.has("stays"));
}

TEST_CASE("remove tree: mounts stay, and are named, all else is removed") {
  const Place place;
  REQUIRE(make_folders(place.path + "/stays"));
  REQUIRE(write_file(place.path + "/stays/file", "x"));
  REQUIRE(make_folders(place.path + "/busy/mount"));
  REQUIRE(make_folders(place.path + "/busy/other"));
  const std::string target = place.path + "/busy/mount";
  if (::mount((place.path + "/stays").c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    MESSAGE("skipped: this process may not mount");
    return;
  }
  const Result<void> busy = remove_tree(place.path + "/busy");
  REQUIRE(!busy);
  CHECK(busy.error().text == target + ": something is mounted there; not removed");
  CHECK(!place.has("busy/other"));
  CHECK(!remove_tree(target));
  CHECK(::umount2(target.c_str(), MNT_DETACH) == 0);
  CHECK(place.has("stays/file"));
}

TEST_CASE("remove tree: no depth is too deep, with few descriptors") {
  // A disk that others write to takes minutes for 30,000 folders; what is looked at here is the
  // walk.
  const Place place(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  for (const int depth : {63, 64, 65, 600, 30000}) {
    CAPTURE(depth);
    make_deep(place.path + "/deep", depth);
    const struct rlimit few { 128, before.rlim_max };
    ::setrlimit(RLIMIT_NOFILE, &few);
    const Result<void> removed = remove_tree(place.path + "/deep");
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(removed);
    CHECK(!place.has("deep"));
  }
}

TEST_CASE("remove tree: many deep branches, and names as long as can be") {
  const Place place;
  const std::string name(255, 'n');
  for (int i = 0; i < 20; ++i) make_deep(place.path + "/wide/" + std::to_string(i), 200);
  Fd at(::open((place.path + "/wide").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 300; ++i) {  // 76 kB of path, 18 times PATH_MAX.
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0) == 0);
    at = Fd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (::geteuid() != 0) break;  // Mode 0 keeps others out.
  }
  CHECK(remove_tree(place.path + "/wide"));
  CHECK(!place.has("wide"));
}

/// The owner of the folders replaces one with a link to elsewhere, as fast as possible.
TEST_CASE("remove tree: folders that turn into links meanwhile lead nowhere") {
  const Place place;
  REQUIRE(make_folders(place.path + "/precious/inside"));
  REQUIRE(write_file(place.path + "/precious/inside/file", "x"));
  REQUIRE(::symlink((place.path + "/precious").c_str(), (place.path + "/bait").c_str()) == 0);
  std::atomic<bool> over = false;
  const std::string bait = place.path + "/bait";
  const std::string victim = place.path + "/tree/a";
  std::thread swapper([&] {
    while (!over)
      static_cast<void>(
          ::renameat2(AT_FDCWD, bait.c_str(), AT_FDCWD, victim.c_str(), RENAME_EXCHANGE));
  });
  for (int round = 0; round < 300; ++round) {
    static_cast<void>(make_folders(victim + "/inside/deep"));
    static_cast<void>(remove_tree(place.path + "/tree"));
    if (!place.has("bait"))
      static_cast<void>(!::symlink((place.path + "/precious").c_str(), bait.c_str()));
  }
  over = true;
  swapper.join();
  CHECK(place.has("precious/inside/file"));
}

}  // namespace
}  // namespace muster
