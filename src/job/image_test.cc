#include "job/image.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

Image image() {
  return {.name = "busybox",
          .digest = "sha256:1",
          .layers = {"/l/1", "/l/2"},
          .entrypoint = {"/entry", "-x"},
          .environment = {{"A", "b"}},
          .folder = "/work",
          .user = "app"};
}

TEST_CASE("image: a written one is read back") {
  CHECK(*image_from(to_json(image())) == image());
}

TEST_CASE("image: errors name the invalid field") {
  struct {
    const char* name;
    const char* change;
    const char* want;
  } const cases[] = {
      {"no layers", R"({"Layers": []})", "Muster.Image.Layers: expected 1 to 999"},
      {"a relative layer", R"({"Layers": ["l"]})", "Muster.Image.Layers"},
      {"a relative folder", R"({"Folder": "work"})", "Muster.Image.Folder"},
      {"a variable", R"({"Environment": {"A=B": "c"}})", "Muster.Image.Environment"},
      {"a NUL", "{\"User\": \"a\\u0000\"}", "Muster.Image.User"},
      {"an unknown field", R"({"Cmd": []})", "Muster.Image.Cmd"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Json json = to_json(image());
    json.update(Json::parse(c.change));
    const Result<Image> read = image_from(json);
    REQUIRE(!read);
    CHECK(read.error().text.find(c.want) != std::string::npos);
  }
}

TEST_CASE("image: ENTRYPOINT runs with train, unless the job says otherwise") {
  const Image bare{.layers = {"/l"}};
  CHECK(command_of(image(), {}, {}) == Args{"/entry", "-x", "train"});
  CHECK(command_of(bare, {}, {}) == Args{"train"});
  CHECK(command_of(image(), {"sh", "-c"}, {}) == Args{"sh", "-c"});
  CHECK(command_of(image(), {"sh"}, {"-c", "x"}) == Args{"sh", "-c", "x"});
  CHECK(command_of(image(), {}, {"serve"}) == Args{"/entry", "-x", "serve"});
}

TEST_CASE("image: USER is looked up in the image's own files") {
  constexpr const char* passwd =
      "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\nbroken\n:::\n";
  constexpr const char* group = "root:x:0:\nusers:x:100:app\n";
  struct {
    const char* text;
    User want;
  } const cases[] = {
      {"", {0, 0, "/root"}},
      {"root", {0, 0, "/root"}},
      {"0", {0, 0, "/root"}},
      {"app", {1000, 1001, "/home/app"}},
      {"1000", {1000, 1001, "/home/app"}},
      {"app:users", {1000, 100, "/home/app"}},
      {"app:7", {1000, 7, "/home/app"}},
      {"4000", {4000, 0, "/"}},
      {"4000:4001", {4000, 4001, "/"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(*user_of(c.text, passwd, group) == c.want);
  }
  CHECK(user_of("nobody", passwd, group).error().code == Errc::not_found);
  CHECK(user_of("app:staff", passwd, group).error().code == Errc::not_found);
  for (const char* text : {"65536", "99999999999999999999", "app:65536"})
    CHECK(user_of(text, passwd, group).error().code == Errc::invalid_input);
  CHECK(!user_of("evil", "evil:x:-1:0::/:", ""));
}

}  // namespace
}  // namespace muster::job
