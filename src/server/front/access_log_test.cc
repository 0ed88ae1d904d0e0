#include "server/front/access_log.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

http::Served served() {
  http::Served served;
  served.method = "PUT";
  served.target = "/bucket/a%20key?X-Amz-Signature=secret";
  served.peer = "10.0.0.7";
  served.service = "s3";
  served.key = "AKIAEXAMPLE";
  served.status = 200;
  served.received_bytes = 1234;
  served.sent_bytes = 56;
  served.took = 12345us;
  return served;
}

TEST_CASE("access log: a line has the caller and the request, and no signature") {
  CHECK(access_line(served(), UnixMillis(1769860800123)) ==
        "2026-01-31T12:00:00.123Z 10.0.0.7 AKIAEXAMPLE \"PUT /bucket/a%20key\" 200 1234 56 12.3\n");
  http::Served stranger;
  stranger.method = "GET";
  stranger.target = "/\"x\" \x1b[2J";
  CHECK(access_line(stranger, UnixMillis(0)) ==
        "1970-01-01T00:00:00.000Z  - \"GET /%22x%22 \\x1b[2J\" 0 0 0 0.0\n");
}

TEST_CASE("access log: a long path is cut") {
  http::Served long_one = served();
  const std::string path = "/" + std::string(10'000, 'a');
  long_one.target = path;
  CHECK(access_line(long_one, UnixMillis(0)).size() < 2200);
}

TEST_CASE("access log: after a rename and reopen(), a new file is created") {
  const std::string folder = *make_private_folder("/tmp", "muster-test-");
  const std::string path = folder + "/access.log";
  const Result<std::unique_ptr<AccessLog>> log = AccessLog::open(path);
  REQUIRE(log);
  (*log)->add(served());
  REQUIRE(::rename(path.c_str(), (path + ".1").c_str()) == 0);
  (*log)->add(served());
  REQUIRE((*log)->reopen());
  (*log)->add(served());
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines(*read_file(path + ".1")) == 2);
  CHECK(lines(*read_file(path)) == 1);
  CHECK_FALSE(AccessLog::open(folder + "/none/access.log"));
  REQUIRE(remove_tree(folder));
}

TEST_CASE("access log: another user's link or pipe is not written to, at the start or later" *
          doctest::skip(::geteuid() != 0)) {
  const std::string folder = *make_private_folder("/tmp", "muster-test-");
  const std::string path = folder + "/access.log";
  const std::string precious = folder + "/precious";
  REQUIRE(write_file(precious, "text"));
  const auto link_it = [&](uid_t owner) {
    ::unlink(path.c_str());
    REQUIRE(::symlink(precious.c_str(), path.c_str()) == 0);
    REQUIRE(::lchown(path.c_str(), owner, owner) == 0);
  };
  const std::string refused = path + ": this symbolic link belongs to user 4321";
  link_it(4321);
  CHECK(AccessLog::open(path).error().text.starts_with(refused));
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(AccessLog::open(path).error().text == path + " is not a regular file");
  REQUIRE(::unlink(path.c_str()) == 0);
  const Result<std::unique_ptr<AccessLog>> log = AccessLog::open(path);
  REQUIRE(log);
  REQUIRE(::rename(path.c_str(), (path + ".1").c_str()) == 0);
  link_it(4321);
  CHECK((*log)->reopen().error().text.starts_with(refused));
  (*log)->add(served());
  CHECK(read_file(path + ".1")->find("AKIAEXAMPLE") != std::string::npos);
  CHECK(*read_file(precious) == "text");
  link_it(0);
  REQUIRE((*log)->reopen());
  (*log)->add(served());
  CHECK(read_file(precious)->find("AKIAEXAMPLE") != std::string::npos);
  REQUIRE(remove_tree(folder));
}

}  // namespace
}  // namespace muster::server
