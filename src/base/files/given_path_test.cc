#include "base/files/given_path.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/files/remove_tree.h"

namespace muster {
namespace {

constexpr uid_t stranger = 4242;

struct Place {
  Place() : path(*make_private_folder("/tmp", "muster-given-")) {}
  ~Place() { CHECK(remove_tree(path)); }

  void folder(const std::string& name) const { REQUIRE(make_folders(path + "/" + name)); }
  void link(const std::string& target, const std::string& name) const {
    REQUIRE(::symlink(target.c_str(), (path + "/" + name).c_str()) == 0);
  }
  /// A link that belongs neither to root nor to caller().
  void strangers_link(const std::string& target, const std::string& name) const {
    link(target, name);
    if (::geteuid() == 0) REQUIRE(::lchown((path + "/" + name).c_str(), stranger, stranger) == 0);
  }
  uid_t caller() const { return ::geteuid() == 0 ? 0 : ::geteuid() + 1; }
  Result<GivenPath> walk(const std::string& name) const {
    return walk_given(path + "/" + name, caller());
  }

  std::string path;
};

std::pair<dev_t, ino_t> number_of(const Fd& fd) {
  struct stat status {};
  REQUIRE(::fstat(fd.get(), &status) == 0);
  return {status.st_dev, status.st_ino};
}
std::pair<dev_t, ino_t> number_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return {status.st_dev, status.st_ino};
}

TEST_CASE("way to go: the parts of a link's target come before the remaining ones") {
  WayToGo way("//a/./link/b/../c/");
  CHECK(way.next() == "a");
  CHECK(way.next() == "link");
  CHECK(!way.is_in_link());
  REQUIRE(way.follow("x//y"));
  CHECK(way.rest() == "/x/y/b/../c");
  CHECK(way.next() == "x");
  CHECK(way.is_in_link());
  REQUIRE(way.follow("z"));
  for (const char* part : {"z", "y"}) {
    CHECK(way.next() == part);
    CHECK(way.is_in_link());
  }
  for (const char* part : {"b", "..", "c"}) {
    CHECK(way.next() == part);
    CHECK(!way.is_in_link());
  }
  CHECK(!way.next());
  for (int link = 2; link < WayToGo::links_max; ++link) REQUIRE(way.follow("l"));
  CHECK(!way.follow("l"));
  CHECK(way.rest().size() == 2 * (WayToGo::links_max - 2));
}

TEST_CASE("given path: it is held, and what is missing of it is named") {
  Place place;
  place.folder("a/b");
  REQUIRE(write_file(place.path + "/a/file", "text"));
  struct {
    const char* given;
    const char* held;
    std::vector<std::string> missing;
  } const cases[] = {
      {"a/b", "/a/b", {}},       {"a//b/./", "/a/b", {}},  {"a/b/..", "/a", {}},
      {"a/file", "/a/file", {}}, {"a/new", "/a", {"new"}}, {"a/new/er", "/a", {"new", "er"}},
      {"a/b/../x", "/a", {"x"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.given);
    const Result<GivenPath> given = place.walk(c.given);
    REQUIRE(given);
    CHECK(given->path == place.path + c.held);
    CHECK(given->missing == c.missing);
    CHECK(number_of(given->held) == number_of(place.path + c.held));
  }
  CHECK(place.walk("a/new/er")->whole() == place.path + "/a/new/er");
  CHECK(walk_given("/")->whole() == "/");
  CHECK(walk_given("/..")->path == "/");
  CHECK(walk_given("/nothing-here")->whole() == "/nothing-here");
  const Result<GivenPath> below_file = place.walk("a/file/below");
  REQUIRE(!below_file);
  CHECK(below_file.error().text == place.path + "/a/file is not a folder");
}

TEST_CASE("given path: links of root and of the caller are followed") {
  Place place;
  place.folder("real/inner");
  place.link("real", "relative");
  place.link(place.path + "/real", "absolute");
  place.link("relative/inner", "twice");
  place.link("../real/./inner/..", "real/up");
  place.link("nowhere/below", "dangling");
  for (const auto& [given, held] :
       std::vector<std::pair<std::string, std::string>>{{"relative", "/real"},
                                                        {"absolute/inner", "/real/inner"},
                                                        {"twice", "/real/inner"},
                                                        {"real/up/inner", "/real/inner"},
                                                        {"twice/../inner", "/real/inner"}}) {
    const std::string path = place.path + "/" + given;
    CAPTURE(path);
    const Result<GivenPath> found = walk_given(path);
    REQUIRE(found);
    CHECK(found->whole() == place.path + held);
  }
  CHECK(walk_given(place.path + "/relative/new")->whole() == place.path + "/real/new");
  const Result<GivenPath> dangling = walk_given(place.path + "/dangling/x");
  REQUIRE(!dangling);
  CHECK(dangling.error().code == Errc::not_found);
  CHECK(dangling.error().text ==
        "cannot open " + place.path + "/dangling: No such file or directory");
  const Fd open = *open_given_folder(place.path + "/real");
  CHECK(walk_given(held_path(open))->path == place.path + "/real");
}

TEST_CASE("given path: another user's link is refused, by its name, owner and target") {
  Place place;
  place.folder("home/ck");
  place.folder("precious/below");
  place.strangers_link(place.path + "/precious", "home/absolute");
  place.strangers_link("../precious", "home/relative");
  place.link("home/relative", "first");
  const std::string owner = std::to_string(::geteuid() == 0 ? stranger : ::geteuid());
  for (const std::string given :
       {"home/absolute/below", "home/relative/below", "home/relative/new"}) {
    CAPTURE(given);
    const Result<GivenPath> refused = place.walk(given);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::unsupported);
    const std::string link = given.substr(0, given.rfind('/'));
    const std::string last = given.substr(given.rfind('/'));
    CHECK(refused.error().text == place.path + "/" + link +
                                      ": this symbolic link belongs to user " + owner +
                                      ", whose links muster does not follow here; use " +
                                      place.path + "/precious" + last + " instead");
  }
  CHECK(!place.walk("first"));
  CHECK(!open_given_folder(place.path + "/home/absolute", place.caller()));
  CHECK(!open_given_file(place.path + "/home/absolute", place.caller()));
  CHECK(place.walk("home/ck"));
}

TEST_CASE("given path: 40 links on the way are followed, not one more") {
  Place place;
  place.folder("0");
  for (int number = 1; number <= WayToGo::links_max + 1; ++number)
    place.link(std::to_string(number - 1), std::to_string(number));
  place.link("loop", "loop");
  CHECK(walk_given(place.path + "/40")->path == place.path + "/0");
  for (const char* name : {"/41", "/loop", "/loop/x"}) {
    CAPTURE(name);
    const Result<GivenPath> many = walk_given(place.path + name);
    REQUIRE(!many);
    CHECK(many.error().code == Errc::unsupported);
    CHECK(many.error().text.ends_with(": more than 40 symbolic links in the path"));
  }
}

TEST_CASE("given path: only a folder or a plain file is opened") {
  Place place;
  REQUIRE(write_file(place.path + "/file", "text"));
  REQUIRE(::mkfifo((place.path + "/pipe").c_str(), 0600) == 0);
  place.link("file", "link");
  const Result<Fd> file = open_given_file(place.path + "/link");
  REQUIRE(file);
  CHECK(read_file(held_path(*file)).value_or("") == "text");
  CHECK(open_given_file(place.path + "/pipe").error().text ==
        place.path + "/pipe is not a regular file");
  CHECK(open_given_file(place.path).error().code == Errc::invalid_input);
  CHECK(read_given(place.path + "/link").value_or("") == "text");
  CHECK(
      read_given(place.path + "/link", 3).error().text.starts_with(place.path + "/link: exceeds"));
  CHECK(read_given(place.path).error().text == "cannot read " + place.path + ": Is a directory");
  CHECK(open_given_folder(place.path + "/file").error().text ==
        place.path + "/file is not a folder");
  CHECK(open_given_file(place.path + "/none").error().code == Errc::not_found);
  CHECK(open_given_folder(place.path + "/none/below").error().code == Errc::not_found);
}

TEST_CASE("given path: a path below a held folder stays in that folder, and links are checked") {
  Place place;
  place.folder("home/box/blobs");
  place.folder("precious");
  for (const char* file : {"/home/box/index", "/home/box/blobs/1", "/precious/index"})
    REQUIRE(write_file(place.path + file, file));
  place.link("blobs/1", "home/box/own");
  place.link(place.path + "/precious/index", "home/box/absolute");
  place.strangers_link(place.path + "/precious/index", "home/box/strangers");
  place.strangers_link(place.path + "/precious", "home/box/parent");
  REQUIRE(::mkfifo((place.path + "/home/box/pipe").c_str(), 0600) == 0);
  const GivenPath box = *find_given(place.path + "/home/box", place.caller());
  REQUIRE(::rename((place.path + "/home").c_str(), (place.path + "/moved").c_str()) == 0);
  place.link(place.path + "/precious", "home");
  const auto text = [&](const std::string& name) {
    const Result<Fd> file = open_given_file(box, name, place.caller());
    return file ? read_file(held_path(*file)).value_or("unreadable") : file.error().text;
  };
  CHECK(text("index") == "/home/box/index");
  CHECK(text("blobs/1") == "/home/box/blobs/1");
  if (::geteuid() == 0) {
    CHECK(text("own") == "/home/box/blobs/1");
    CHECK(text("absolute") == "/precious/index");
  }
  const std::string path = place.path + "/home/box/";
  CHECK(text("strangers").starts_with(path + "strangers: this symbolic link belongs to user "));
  CHECK(text("parent/index").starts_with(path + "parent: this symbolic link belongs to user "));
  CHECK(text("pipe") == path + "pipe is not a regular file");
  CHECK(text("none") == "cannot open " + path + "none: No such file or directory");
  CHECK(text("index/below") == path + "index is not a folder");
}

TEST_CASE("given path: a file is written through links of root alone, and replaces a link") {
  Place place;
  place.folder("precious");
  place.link("precious", "own");
  place.strangers_link("precious", "strangers");
  place.strangers_link("precious/kept", "link");
  const Result<void> refused = write_given(place.path + "/strangers/file", "text", place.caller());
  REQUIRE(!refused);
  CHECK(refused.error().text.find("/strangers: this symbolic link belongs to user ") !=
        std::string::npos);
  REQUIRE(write_given(place.path + "/own/file", "text"));
  CHECK(read_file(place.path + "/precious/file").value_or("") == "text");
  REQUIRE(write_given(place.path + "/link", "text", place.caller()));
  CHECK(::access((place.path + "/precious/kept").c_str(), F_OK) != 0);
  CHECK(read_file(place.path + "/link").value_or("") == "text");
  CHECK(write_given(place.path + "/none/file", "").error().text ==
        "cannot create " + place.path + "/none/file: No such file or directory");
  place.folder("folder");
  CHECK(write_given(place.path + "/folder", "").error().text.starts_with(place.path + "/folder: "));
}

TEST_CASE("given path: missing folders are made where it is held, for their owner") {
  Place place;
  place.folder("a");
  const GivenPath given = *place.walk("a/new/er");
  REQUIRE(::rename((place.path + "/a").c_str(), (place.path + "/moved").c_str()) == 0);
  const std::optional<Owner> owner =
      ::geteuid() == 0 ? std::optional(Owner{stranger, stranger}) : std::nullopt;
  const Result<Fd> made = make_given_folder(given, owner);
  REQUIRE(made);
  CHECK(number_of(*made) == number_of(place.path + "/moved/new/er"));
  struct stat status {};
  REQUIRE(::stat((place.path + "/moved/new").c_str(), &status) == 0);
  CHECK(status.st_uid == (owner ? stranger : ::geteuid()));
  const GivenPath late = *place.walk("moved/late/inner");
  place.folder("precious");
  place.link("../precious", "moved/late");
  CHECK(!make_given_folder(late, std::nullopt));
  CHECK(::access((place.path + "/precious/inner").c_str(), F_OK) != 0);
}

TEST_CASE(
    "given path: however fast its folders and links are swapped, no stranger's link is followed") {
  Place place;
  place.folder("home/parent/ck");
  place.folder("precious/ck");
  place.strangers_link(place.path + "/precious", "home/other");
  place.strangers_link(place.path + "/precious/ck", "home/link");
  const std::string home = place.path + "/home";
  const std::set<std::pair<dev_t, ino_t>> good{number_of(home + "/parent/ck")};
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    const auto swap = [&](const std::string& a, const std::string& b) {
      static_cast<void>(
          ::renameat2(AT_FDCWD, (home + a).c_str(), AT_FDCWD, (home + b).c_str(), RENAME_EXCHANGE));
    };
    while (!over) {
      swap("/parent", "/other");
      swap("/parent", "/other");
      swap("/parent/ck", "/link");
      swap("/parent/ck", "/link");
    }
  });
  int found = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Result<Fd> folder = open_given_folder(home + "/parent/ck", place.caller());
    if (!folder) {
      ++refused;
    } else {
      ++found;
      CHECK(good.contains(number_of(*folder)));
    }
  }
  over = true;
  swapper.join();
  CHECK(found > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace muster
