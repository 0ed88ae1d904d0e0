#include "machine/node/job_place.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "job/wire/node_place.h"

namespace muster::node {
namespace {

TEST_CASE("unclaimed: files of a job that never began are removed, and nothing else") {
  const std::string folder = *make_private_folder("/tmp", "muster-unclaimed-");
  const auto at = [&](const std::string& name) { return folder + "/" + name; };
  const auto is_there = [&](const std::string& name) {
    struct stat status {};
    return ::lstat(at(name).c_str(), &status) == 0;
  };
  const std::string gone = "muster-0123456789abcdef";
  const std::string begun = "muster-1123456789abcdef";
  const std::string waited = "muster-2123456789abcdef";
  for (const std::string& name : {gone + ".sm", gone + ".job", gone + ".layer-3", begun + ".sm",
                                  gone + "x.sm", std::string("muster-0123.job")})
    REQUIRE(write_file(at(name), "x", 0600));
  REQUIRE(make_folders(at(begun + "/run"), 0700));
  REQUIRE(make_folders(at(waited), 0700));
  REQUIRE(write_file(at(waited + "/job"), "keys", 0600));
  REQUIRE(::symlink("/etc/passwd", at(gone + ".tar").c_str()) == 0);

  remove_unclaimed(folder, wall_time() - UnixMillis(60'000));
  CHECK(is_there(gone + ".sm"));  // Perhaps it is being brought now.
  CHECK(is_there(waited + "/job"));
  remove_unclaimed(folder, wall_time() + UnixMillis(60'000));
  for (const char* word : {".sm", ".job", ".layer-3"}) CHECK_FALSE(is_there(gone + word));
  CHECK_FALSE(is_there(waited));
  for (const std::string& kept : {begun + ".sm", begun + "/run", gone + ".tar", gone + "x.sm",
                                  std::string("muster-0123.job")})
    CHECK(is_there(kept));
  static_cast<void>(remove_tree(folder));
}

TEST_CASE(
    "job place: delivered files are removed with the job's file, and nothing outside a place") {
  const std::string folder = *make_private_folder("/tmp", "muster-place-");
  const std::string place = folder + "/muster-0123456789abcdef";
  REQUIRE(make_folders(place + "/run", 0700));
  REQUIRE(write_file(place + "/sm", "program", 0700));
  REQUIRE(write_file(folder + "/job", "", 0600));
  CHECK(job::place_around(place + "/run") == place);
  CHECK(job::place_around(folder + "/job") == folder + "/job");
  CHECK(remove_place_of(folder + "/job"));
  CHECK(::access((folder + "/job").c_str(), F_OK) == 0);
  const std::string link = folder + "/muster-1123456789abcdef";
  REQUIRE(::symlink(place.c_str(), link.c_str()) == 0);
  CHECK(remove_place_of(link + "/job"));
  CHECK(::access((place + "/sm").c_str(), F_OK) == 0);
  CHECK(remove_place_of(place + "/job"));
  CHECK(::access(place.c_str(), F_OK) != 0);
  static_cast<void>(remove_tree(folder));
}

}  // namespace
}  // namespace muster::node
