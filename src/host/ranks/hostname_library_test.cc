#include "host/ranks/hostname_library.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "base/fd.h"

using namespace muster;
using namespace muster::ranks;

namespace {

struct Folder {
  Folder() {
    Result<std::string> made = make_private_folder("/tmp", "hostname-test-");
    REQUIRE(made);
    path = *made;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  std::string path;
};

// Programs that load it, and what they get from it: tests/e2e/test_hostname.py.
TEST_CASE("hostname library: each host's copy holds its name, and is read-only") {
  const Folder folder;
  std::string first;
  for (const std::string& host : {std::string("algo-1"), std::string(255, 'x')}) {
    const Result<std::string> path = write_hostname_library(folder.path, host);
    REQUIRE_MESSAGE(path, (path ? "" : path.error().text));
    CHECK(*path == folder.path + "/libmuster-hostname.so");
    struct stat info {};
    REQUIRE(::stat(path->c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0444);
    const std::string bytes = *read_file(*path);
    CHECK(
        bytes.starts_with("\x7f"
                          "ELF"));
    CHECK(bytes.find(host + std::string(256 - host.size(), '\0')) != std::string::npos);
    CHECK(bytes.find("is written over") == std::string::npos);
    CHECK(bytes.size() < 16384);
    if (!first.empty()) CHECK(bytes.size() == first.size());
    first = bytes;
  }
}

TEST_CASE("hostname library: an impossible request is one clear line") {
  const Folder folder;
  const struct {
    std::string folder;
    std::string host;
    Errc code;
    const char* part;  ///< What the error's text has in it.
  } cases[] = {
      {folder.path, "", Errc::invalid_input, "host name \"\": expected 1 to 255 bytes"},
      {folder.path, std::string(256, 'x'), Errc::invalid_input, "1 to 255 bytes"},
      {folder.path, std::string("a\0b", 3), Errc::invalid_input, "without NUL"},
      {folder.path + "/a b", "algo-1", Errc::invalid_input, "with a space or ':'"},
      {folder.path + "/a:b", "algo-1", Errc::invalid_input, "with a space or ':'"},
      {folder.path + "/none", "algo-1", Errc::not_found, "/none"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.part);
    const Result<std::string> got = write_hostname_library(c.folder, c.host);
    REQUIRE(!got);
    CHECK(got.error().code == c.code);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

TEST_CASE("hostname library: a folder that nothing can be loaded from is said to be noexec") {
  std::istringstream mounts(*read_file("/proc/self/mounts"));
  std::string device, folder, kind, options, rest;
  while (mounts >> device >> folder >> kind >> options && std::getline(mounts, rest)) {
    if (("," + options + ",").find(",noexec,") == std::string::npos) continue;
    const Result<std::string> got = write_hostname_library(folder, "algo-1");
    REQUIRE(!got);
    if (got.error().code == Errc::denied) continue;  // Hidden from us.
    CHECK(got.error().text.find(folder + " is mounted noexec") == 0);
    return;
  }
  MESSAGE("skipped: no folder of this machine is mounted noexec");
}

}  // namespace
