#include "base/files/folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/files/remove_tree.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("folder: names are sorted, with hidden ones, on every call") {
  const std::string path = *make_private_folder("/tmp", "muster-folder-");
  for (const char* name : {"b", "a", ".hidden", "..."})
    REQUIRE(write_file(path + "/" + name, "text"));
  REQUIRE(make_folders(path + "/below/deeper"));
  const Names want = {"...", ".hidden", "a", "b", "below"};
  CHECK(*names_in(path) == want);
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(*names_in(folder.get(), "it") == want);
  CHECK(*names_in(folder.get(), "it") == want);
  const Fd below = open_folder(folder.get(), "below");
  REQUIRE(below);
  CHECK(*names_in(below.get(), "below") == Names{"deeper"});
  REQUIRE(remove_tree(path));
}

TEST_CASE(
    "folder: a path that is not a folder is an error that names it, and no link is followed") {
  const std::string path = *make_private_folder("/tmp", "muster-folder-");
  CHECK(names_in(path + "/none").error().code == Errc::not_found);
  CHECK(
      names_in(path + "/none").error().text.starts_with("cannot list folder " + path + "/none: "));
  REQUIRE(write_file(path + "/file", "text"));
  CHECK(!names_in(path + "/file"));
  REQUIRE(::symlink("/etc", (path + "/link").c_str()) == 0);
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(!open_folder(folder.get(), "link"));
  CHECK(!open_folder(folder.get(), "file"));
  REQUIRE(remove_tree(path));
}

}  // namespace
}  // namespace muster
