#include "node/unclaimed.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/remove_tree.h"

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
  for (const std::string& name : {gone + ".sm", gone + ".job", gone + ".layer-3", begun + ".sm",
                                  gone + "x.sm", std::string("muster-0123.job")})
    REQUIRE(write_file(at(name), "x", 0600));
  REQUIRE(::mkdir(at(begun).c_str(), 0700) == 0);
  REQUIRE(::symlink("/etc/passwd", at(gone + ".tar").c_str()) == 0);

  remove_unclaimed(folder, wall_time() - UnixMillis(60'000));
  CHECK(is_there(gone + ".sm"));  // Perhaps it is being brought now.
  remove_unclaimed(folder, wall_time() + UnixMillis(60'000));
  for (const char* word : {".sm", ".job", ".layer-3"}) CHECK_FALSE(is_there(gone + word));
  for (const std::string& kept :
       {begun + ".sm", gone + ".tar", gone + "x.sm", std::string("muster-0123.job")})
    CHECK(is_there(kept));
  static_cast<void>(remove_tree(folder));
}

}  // namespace
}  // namespace muster::node
