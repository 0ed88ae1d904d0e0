#include "base/process/cover_folder.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/process/user_namespace.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

/// Runs `test` in separate mounts; false if they cannot be created.
template <class Test>
bool in_own_mounts(const Test& test, int& failed_step) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool own = ::geteuid() == 0
                         ? ::unshare(CLONE_NEWNS) == 0 &&
                               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                         : enter_own_namespaces().has_value();
    ::_exit(own ? test() : 255);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  failed_step = WEXITSTATUS(status);
  return failed_step != 255;
}

TEST_CASE("cover folder: all that was there shows at its place, and entries can be added") {
  const std::string folder = *make_private_folder("/tmp", "muster-cover-");
  REQUIRE(make_folders(folder + "/sub/deep"));
  REQUIRE(make_folders(folder + "/hidden"));
  REQUIRE(write_file(folder + "/sub/deep/file", "deep"));
  REQUIRE(write_file(folder + "/file", "text"));
  fs::create_symlink("file", folder + "/link");
  const auto test = [&folder] {
    if (!cover_folder(folder, {"hidden"})) return 1;
    if (read_file(folder + "/sub/deep/file").value_or("") != "deep") return 2;
    if (read_file(folder + "/link").value_or("") != "text") return 3;
    if (fs::exists(folder + "/hidden")) return 4;
    if (!write_file(folder + "/new", "new")) return 5;
    return write_file(folder + "/sub/through", "x") ? 0 : 6;
  };
  int failed_step = 0;
  if (in_own_mounts(test, failed_step)) {
    CHECK(failed_step == 0);
    CHECK(!fs::exists(folder + "/new"));  // In the memory that went with the mounts.
    CHECK(fs::exists(folder + "/sub/through"));
  } else {
    MESSAGE("skipped: no mounts of our own here");
  }
  CHECK(cover_folder(folder + "/none", {}).error().code == Errc::not_found);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace muster
