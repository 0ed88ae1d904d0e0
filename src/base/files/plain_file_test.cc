#include "base/files/plain_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster {
namespace {

TEST_CASE("plain file: its head, and nothing of a pipe, a device or a folder") {
  const std::string folder = *make_private_folder("/tmp", "muster-plain-");
  REQUIRE(write_file(folder + "/f", "abcdef"));
  CHECK(*read_head(folder + "/f", 4) == "abcd");
  CHECK(*read_head(folder + "/f", 4096) == "abcdef");
  REQUIRE(write_file(folder + "/empty", ""));
  CHECK(read_head(folder + "/empty", 4)->empty());
  REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0600) == 0);
  for (const std::string& path : {folder + "/pipe", std::string("/dev/zero"), folder}) {
    const Result<std::string> head = read_head(path, 4);
    REQUIRE(!head);
    CHECK(head.error().code == Errc::denied);
    CHECK(head.error().text == path + ": expected a regular file");
  }
  CHECK(read_head(folder + "/none", 4).error().code == Errc::not_found);
  CHECK(remove_tree(folder));
}

}  // namespace
}  // namespace muster
