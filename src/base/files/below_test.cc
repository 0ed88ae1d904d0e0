#include "base/files/below.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/files/remove_tree.h"

namespace muster {
namespace {

struct Place {
  Place() : path(*make_private_folder("/tmp", "muster-below-")) {
    REQUIRE(make_folders(path + "/top/a/b"));
    REQUIRE(make_folders(path + "/outside/b"));
    for (const char* file : {"/top/file", "/top/a/file", "/top/a/b/file"})
      REQUIRE(write_file(path + file, file));
    for (const char* file : {"/outside/file", "/outside/b/file"})
      REQUIRE(write_file(path + file, "a secret"));
    top = Fd(::open((path + "/top").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(top);
  }
  ~Place() { CHECK(remove_tree(path)); }

  void link(const std::string& target, const std::string& name) const {
    REQUIRE(::symlink(target.c_str(), (path + name).c_str()) == 0);
  }

  std::string path;
  Fd top;
};

std::string text_of(const Fd& file) {
  return file ? read_file("/proc/self/fd/" + std::to_string(file.get())).value_or("unreadable")
              : "not opened";
}

TEST_CASE("below: entries are opened in any order, from folders that were just used or not") {
  const Place place;
  Below below(place.top.get());
  for (const std::string name : {"a/b/file", "a/file", "file", "a/b/file", "a/b/file", "a/file"}) {
    CAPTURE(name);
    CHECK(text_of(below.open(name, O_RDONLY)) == "/top/" + name);
  }
  struct stat one {
  }, other{};
  for (const std::string name : {"", "a", "a/b", "a", ""}) {
    CAPTURE(name);
    REQUIRE(::fstat(below.folder(name), &one) == 0);
    REQUIRE(::stat((place.path + "/top/" + name).c_str(), &other) == 0);
    CHECK(one.st_ino == other.st_ino);
  }
  CHECK(below.open("", O_RDONLY | O_DIRECTORY));
}

TEST_CASE("below: what is missing is not found, and what was used before still is") {
  const Place place;
  Below below(place.top.get());
  CHECK(below.folder("a/b") >= 0);
  CHECK((below.folder("a/b/none") < 0 && errno == ENOENT));
  CHECK((!below.open("a/none/file", O_RDONLY) && errno == ENOENT));
  CHECK((below.folder("file") < 0 && errno == ENOTDIR));
  CHECK(text_of(below.open("a/b/file", O_RDONLY)) == "/top/a/b/file");
}

TEST_CASE("below: no link is followed, in no part of a path") {
  const Place place;
  place.link("../outside", "/top/link");
  place.link(place.path + "/outside/b", "/top/a/link");
  place.link("b", "/top/a/inside");
  place.link("../../outside/file", "/top/a/file-link");
  Below below(place.top.get());
  for (const char* name : {"link", "a/link", "a/inside", "link/b"}) {
    CAPTURE(name);
    CHECK((below.folder(name) < 0 && errno == ENOTDIR));
  }
  for (const char* name : {"link/file", "link/b/file", "a/link/file", "a/inside/file"})
    CHECK(!below.open(name, O_RDONLY));
  CHECK((!below.open("a/file-link", O_RDONLY) && errno == ELOOP));
}

TEST_CASE("below: however fast a folder is swapped for a link, nothing outside is opened") {
  const Place place;
  place.link("../outside", "/top/other");
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    while (!over)
      static_cast<void>(
          ::renameat2(place.top.get(), "a", place.top.get(), "other", RENAME_EXCHANGE));
  });
  int found = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    Below below(place.top.get());
    const Fd file = below.open("a/b/file", O_RDONLY);
    ++(file ? found : refused);
    if (file) CHECK(text_of(file) == "/top/a/b/file");
  }
  over = true;
  swapper.join();
  CHECK(found > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace muster
