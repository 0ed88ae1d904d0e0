#include "base/files/own_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/remove_tree.h"

namespace muster {
namespace {

constexpr uid_t ann = 1000, bob = 1001;

struct Place {
  Place() : path(*make_private_folder("/tmp", "muster-own-")) {}
  ~Place() { CHECK(remove_tree(path)); }
  std::string folder(const std::string& name, mode_t mode) const {
    std::string made = path + "/" + name;
    REQUIRE(make_folders(made));
    REQUIRE(::chmod(made.c_str(), mode) == 0);
    return made;
  }
  std::string path;
};

TEST_CASE("own folder: owner, mode and group decide who can change it") {
  constexpr const char* groups = "root:x:0:\nann:x:1000:\nbob:x:1001:bob,eve\nlab:x:2000:ann\n";
  struct {
    const char* name;
    uid_t user;
    gid_t group;
    mode_t mode;
    bool is_last;
    uid_t caller;
    const char* want;
  } const cases[] = {
      {"private", ann, ann, 0700, true, ann, ""},
      {"root's", 0, 0, 0755, true, ann, ""},
      {"another's", bob, ann, 0700, true, ann, "it belongs to user 1001"},
      {"a user's, for root", ann, 0, 0700, true, 0, "it belongs to user 1000"},
      {"a user's on the way, for root", ann, 0, 0700, false, 0, "it belongs to user 1000"},
      {"open to all", ann, ann, 0707, true, ann, "all users can write to it"},
      {"sticky on the way", 0, 0, 01777, false, ann, ""},
      {"sticky itself", 0, 0, 01777, true, ann, "all users can write to it"},
      {"another's, sticky", bob, bob, 01777, false, ann, "it belongs to user 1001"},
      {"private group", ann, ann, 0775, true, ann, ""},
      {"private group with others", bob, bob, 0770, true, bob, "group 1001 can write to it"},
      {"shared group", ann, 2000, 0770, true, ann, "group 2000 can write to it"},
      {"shared group on the way", ann, 2000, 02775, false, ann, "group 2000 can write to it"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    struct stat status {};
    status.st_uid = c.user;
    status.st_gid = c.group;
    status.st_mode = S_IFDIR | c.mode;
    CHECK(why_not_own(status, c.caller, c.is_last, groups) == c.want);
  }
}

TEST_CASE("own folder: it and each folder on the way are checked") {
  Place place;
  const std::string good = place.folder("good/state", 0700);
  CHECK(check_own_folder(good));
  CHECK(check_own_folder(place.path + "/good/later/state"));
  CHECK(::access((place.path + "/good/later").c_str(), F_OK) != 0);
  const std::string open = place.folder("open", 0777);
  place.folder("open/state", 0700);
  for (const char* name : {"", "/state", "/later"}) {
    CAPTURE(name);
    const Result<void> refused = check_own_folder(open + name);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::denied);
    CHECK(refused.error().text ==
          open + ": not safe for muster's own files: all users can write to it");
  }
  REQUIRE(::symlink("open/state", (place.path + "/link").c_str()) == 0);
  CHECK(!check_own_folder(place.path + "/link"));
  REQUIRE(::unlink((place.path + "/link").c_str()) == 0);
  REQUIRE(::symlink("good", (place.path + "/link").c_str()) == 0);
  CHECK(check_own_folder(place.path + "/link/state"));
}

TEST_CASE("own folder: in a sticky folder it is made before another user can make it") {
  Place place;
  const std::string shared = place.folder("shared", 01777);
  REQUIRE(check_own_folder(shared + "/state"));
  struct stat status {};
  REQUIRE(::stat((shared + "/state").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  if (::geteuid() != 0) return;
  REQUIRE(::chown((shared + "/state").c_str(), ann, ann) == 0);
  CHECK(check_own_folder(shared + "/state").error().text ==
        shared + "/state: not safe for muster's own files: it belongs to user 1000");
  CHECK(check_own_folder(shared + "/state", ann));
  REQUIRE(::symlink("/root", (shared + "/link").c_str()) == 0);
  REQUIRE(::lchown((shared + "/link").c_str(), ann, ann) == 0);
  CHECK(check_own_folder(shared + "/link").error().code == Errc::unsupported);
}

}  // namespace
}  // namespace muster
