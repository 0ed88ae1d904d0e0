#include "server/front/server_main_config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

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

}  // namespace
}  // namespace muster::server
