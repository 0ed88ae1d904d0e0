#include "server/front/access_log.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace muster::server
