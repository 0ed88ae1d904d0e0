#include "server/front/server_main_config.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace muster::server
