#include "server/front/server_main_config.h"

#include <doctest/doctest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "server/front/s3_room.h"

namespace muster::server {
namespace {

TEST_CASE("config: the form of keys is checked") {
  const auto why = [](const std::string& text) {
    const Result<ServerConfig> config = config_of({}, text, {{"HOME", "/h"}});
    return config ? std::string() : config.error().text;
  };
  CHECK(why(R"({"keys": [{"id": "a", "secret_file": "/b"}]})").empty());
  CHECK(why(R"({"keys": {}})").find("keys: expected a list") == 0);
  CHECK(why(R"({"keys": [1]})").find("keys[0]: expected") == 0);
  CHECK(why(R"({"keys": [{"id": "a"}]})").find("keys[0]: expected both") == 0);
  CHECK(why(R"({"keys": [{"id": "a", "secret": "b"}]})").find("keys[0].secret: expected") == 0);
  CHECK(why(R"({"keys": [{"id": 1, "secret_file": "b"}]})") == "keys[0].id: expected a string");
}

TEST_CASE("config: before a user namespace, links of root are replaced, others' are refused" *
          doctest::skip(::geteuid() != 0)) {
  const std::string folder = *make_private_folder("/tmp", "muster-config-");
  REQUIRE(make_folders(folder + "/real"));
  const std::string link = folder + "/link";
  REQUIRE(::symlink("real", link.c_str()) == 0);
  ServerConfig config;
  config.certificate = link + "/cert.pem";
  config.key = folder + "/real/key.pem";
  config.access_log = link + "/new.log";
  config.s3.emplace().ca_file = link + "/ca.pem";
  REQUIRE(::lchown(link.c_str(), 4321, 4321) == 0);
  const Result<void> refused = resolve_links(config);
  REQUIRE(!refused);
  CHECK(refused.error().text.starts_with(link + ": this symbolic link belongs to user 4321"));
  REQUIRE(::lchown(link.c_str(), 0, 0) == 0);
  REQUIRE(resolve_links(config));
  CHECK(config.certificate == folder + "/real/cert.pem");
  CHECK(config.key == folder + "/real/key.pem");
  CHECK(config.ca.empty());
  CHECK(config.access_log == folder + "/real/new.log");
  CHECK(config.s3->ca_file == folder + "/real/ca.pem");
  REQUIRE(remove_tree(folder));
}

TEST_CASE("config: without disk_free_gib 5 % of the disk stay free, and at most 2 GiB") {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  CHECK(default_free_min(0) == 0);
  CHECK(default_free_min(10 * gib) == gib / 2);
  CHECK(default_free_min(40 * gib - 20) == 2 * gib - 1);
  CHECK(default_free_min(40 * gib) == 2 * gib);
  CHECK(default_free_min(4000 * gib) == 2 * gib);

  ServerConfig config;
  config.data = *make_private_folder("/tmp", "muster-room-");
  REQUIRE(make_folders(config.data + "/s3"));
  struct statvfs disk {};
  REQUIRE(::statvfs(config.data.c_str(), &disk) == 0);
  CHECK(free_min_of(config) == default_free_min(std::uint64_t{disk.f_blocks} * disk.f_frsize));
  for (const std::uint64_t set : {std::uint64_t{0}, 5 * gib}) {
    config.disk_free_bytes = set;
    CHECK(free_min_of(config) == set);
  }
  CHECK(remove_tree(config.data));
  config.disk_free_bytes.reset();
  CHECK(free_min_of(config) == 2 * gib);  // Without the disk's size, the larger of the two.
}

}  // namespace
}  // namespace muster::server
