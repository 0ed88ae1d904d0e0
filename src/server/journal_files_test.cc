#include "server/journal_files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "server/test_journals.h"

namespace muster::server {
namespace {

struct Place {
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { static_cast<void>(remove_tree(folder)); }
  std::string folder = *make_private_folder("/tmp", "muster-journals-");
  TestJournals of{folder};
  JournalFiles& journals = of.files;
};

TEST_CASE("journal files: a job's are read where its engine has them, then where they are kept") {
  Place place;
  const std::string living = place.folder + "/a-algo-1";
  CHECK(place.journals.file("a", "algo-1") == living);
  REQUIRE(write_file(living, "records"));
  REQUIRE(place.journals.keep("a", {"algo-1"}));
  REQUIRE(place.journals.keep("a", {"algo-1"}));
  ::unlink(living.c_str());
  const std::string kept = place.journals.file("a", "algo-1");
  CHECK(kept != living);
  CHECK(*read_file(kept) == "records");
}

TEST_CASE("journal files: a host that never wrote one is passed over") {
  Place place;
  REQUIRE(write_file(place.folder + "/a-algo-2", "records"));
  REQUIRE(place.journals.keep("a", {"algo-1", "algo-2"}));
  CHECK(place.journals.file("a", "algo-1") == place.folder + "/a-algo-1");
  CHECK(*read_file(place.journals.file("a", "algo-2")) == "records");
}

TEST_CASE("journal files: a journal that cannot be kept is named, and a forgotten one is gone") {
  Place place;
  REQUIRE(write_file(place.folder + "/kept", "no folder"));
  const Result<void> kept = place.journals.keep("a", {"algo-1"});
  REQUIRE(!kept);
  CHECK(kept.error().text.find("/kept") != std::string::npos);
  ::unlink((place.folder + "/kept").c_str());
  REQUIRE(write_file(place.folder + "/a-algo-1", "records"));
  REQUIRE(place.journals.keep("a", {"algo-1"}));
  REQUIRE(place.journals.forget("a"));
  CHECK(place.journals.file("a", "algo-1") == place.folder + "/a-algo-1");
  CHECK(place.journals.forget("never was"));
}

TEST_CASE("journal files: on another disk a copy is kept, and its reader continues there") {
  Place place;
  const Result<std::string> other = make_private_folder("/dev/shm", "muster-journals-");
  struct stat here {
  }, there{};
  if (!other || ::stat(place.folder.c_str(), &here) != 0 || ::stat(other->c_str(), &there) != 0 ||
      here.st_dev == there.st_dev) {
    MESSAGE("skipped: /dev/shm is no file system of its own here");
    return;
  }
  const JournalFiles journals(*other, place.of.engine);
  REQUIRE(write_file(place.folder + "/a-algo-1", "records"));
  REQUIRE(journals.keep("a", {"algo-1", "algo-2"}));
  REQUIRE(journals.keep("a", {"algo-1", "algo-2"}));
  ::unlink((place.folder + "/a-algo-1").c_str());
  CHECK(*read_file(journals.file("a", "algo-1")) == "records");
  REQUIRE(make_folders(place.folder + "/b-algo-1"));
  CHECK(journals.keep("b", {"algo-1"}).error().text.find("/b/algo-1/journal") != std::string::npos);
  static_cast<void>(remove_tree(*other));
}

}  // namespace
}  // namespace muster::server
