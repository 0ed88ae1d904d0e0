#include "server/registry/registry_server.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "aws/access/party.h"
#include "base/base64.h"
#include "image/kept/testing.h"
#include "net/loop/tasks.h"
#include "server/registry/login.h"

namespace muster::registry {
namespace {

using std::chrono::hours;

const UnixMillis now = hours(1000);

/// A request that is there whole, and its answer.
class Asked : public http::Exchange {
 public:
  Asked(loop::Loop& loop, std::string method, std::string target, std::string login,
        std::string body)
      : loop_(loop),
        texts_{std::move(method), std::move(target), "Basic " + base64(login), std::move(body)} {
    incoming_.method = texts_[0];
    incoming_.target = texts_[1];
    incoming_.headers = {{"Authorization", texts_[2]},
                         {"Content-Type", "application/vnd.oci.image.manifest.v1+json"}};
    incoming_.body_bytes = texts_[3].size();
  }
  const http::Incoming& request() const override { return incoming_; }
  loop::Loop& loop() override { return loop_; }
  loop::Task<Result<std::string_view>> read() override {
    const std::string_view all = read_ ? std::string_view() : std::string_view(texts_[3]);
    read_ = true;
    co_return all;
  }
  loop::Task<Result<void>> reply(http::Reply reply) override {
    answer = std::move(reply);
    answered_ = true;
    if (on_answer) on_answer();
    co_return Result<void>();
  }
  loop::Task<Result<void>> start(http::Reply) override { co_return Result<void>(); }
  loop::Task<Result<void>> write(std::string_view) override { co_return Result<void>(); }
  void finish_broken() override {}
  bool answered() const override { return answered_; }
  void is_for(std::string_view) override {}
  bool proved(std::string_view, std::string_view party) override {
    owner = party;
    return true;
  }
  bool keeps(std::size_t) override { return true; }
  std::function<bool()> gone() const override { return {}; }

  http::Reply answer;
  std::string owner;
  std::function<void()> on_answer;

 private:
  loop::Loop& loop_;
  const std::string texts_[4];
  http::Incoming incoming_;
  bool read_ = false;
  bool answered_ = false;
};

loop::Task<> answer_one(RegistryServer& server, Asked& asked) {
  co_await server.answer(asked);
  asked.loop().stop();
}

struct Place {
  Place() {
    REQUIRE(keys.add({"USER", "secretsecret", "", std::nullopt, {}, ""}));
    access::KeyPolicy limited;
    limited.limited = true;
    limited.repository = "team/box";
    REQUIRE(keys.add({"JOB", "secretsecret", "session", std::nullopt, limited, "job-1"}));
    REQUIRE(keys.add({"OTHER", "secretsecret", "", std::nullopt, {}, ""}));
  }
  std::string login(const std::string& id) const {
    return "AWS:" + token_for(*keys.find(id), now + hours(1));
  }
  http::Reply ask(const std::string& id, const std::string& method, const std::string& target,
                  const std::string& body = "", std::function<void()> on_answer = {}) {
    loop::Loop loop;
    loop::Tasks tasks(loop);
    Asked asked(loop, method, target, login(id), body);
    asked.on_answer = std::move(on_answer);
    tasks.start(answer_one(server, asked));
    loop.run();
    CHECK(asked.owner == (id == "JOB" ? "job-1" : access::party_of_key(id)));
    return std::move(asked.answer);
  }
  /// As a user pushes; the statuses are checked.
  void push(const image::TestImage& image, const std::string& tag,
            const std::string& repository = "/v2/team/box") {
    std::vector<std::string> blobs = image.layers;
    blobs.push_back(image.config);
    for (const std::string& blob : blobs)
      REQUIRE(
          ask("USER", "POST", repository + "/blobs/uploads/?digest=" + image::digest_of(blob), blob)
              .status == 201);
    REQUIRE(ask("USER", "PUT", repository + "/manifests/" + tag, image.manifest).status == 201);
  }

  packing::Scratch scratch;
  access::KeyRing keys;
  RegistryServer server{
      keys,
      {.open_store = [this] { return image::Store::open(scratch.path + "/images"); },
       .now = [] { return now; }}};
};

std::string header(const http::Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers)
    if (key == name) return value;
  return "";
}

TEST_CASE("registry server: a job's key pulls its own image, and does nothing else") {
  Place place;
  const image::TestImage image({packing::Tar().file("train", "1")});
  place.push(image, "v1");
  place.push(image, "v1", "/v2/other/box");
  const std::string config = image::digest_of(image.config);
  const std::string manifest = image::digest_of(image.manifest);
  CHECK(place.ask("JOB", "GET", "/v2/").status == 200);
  const http::Reply got = place.ask("JOB", "GET", "/v2/team/box/manifests/v1");
  CHECK(got.status == 200);
  CHECK(got.body == image.manifest);
  CHECK(header(got, "Docker-Content-Digest") == manifest);
  CHECK(place.ask("JOB", "HEAD", "/v2/team/box/manifests/" + manifest).status == 200);
  CHECK(place.ask("JOB", "GET", "/v2/team/box/blobs/" + config).file_bytes == image.config.size());
  struct {
    const char* method;
    std::string target;
  } const cases[] = {
      {"GET", "/v2/other/box/manifests/v1"},
      {"HEAD", "/v2/other/box/manifests/" + manifest},
      {"GET", "/v2/other/box/blobs/" + config},
      {"GET", "/v2/team/manifests/v1"},
      {"GET", "/v2/team/box/more/manifests/v1"},
      {"GET", "/v2/_catalog"},
      {"GET", "/v2/team/box/tags/list"},
      {"POST", "/v2/team/box/blobs/uploads/"},
      {"POST", "/v2/team/box/blobs/uploads/?digest=" + config},
      {"POST", "/v2/new/box/blobs/uploads/?from=team/box&mount=" + config},
      {"PATCH", "/v2/team/box/blobs/uploads/" + std::string(32, '0')},
      {"PUT", "/v2/team/box/blobs/uploads/" + std::string(32, '0') + "?digest=" + config},
      {"PUT", "/v2/team/box/manifests/v1"},
      {"PUT", "/v2/team/box/manifests/v2"},
      {"DELETE", "/v2/team/box/manifests/v1"},
      {"DELETE", "/v2/team/box/manifests/" + manifest},
      {"DELETE", "/v2/team/box/blobs/" + config},
  };
  for (const auto& c : cases) {
    CAPTURE(c.method);
    CAPTURE(c.target);
    const http::Reply refused = place.ask("JOB", c.method, c.target, image.manifest);
    CHECK(refused.status == 403);
    CHECK(refused.body.find("DENIED") != std::string::npos);
  }
  CHECK(place.ask("USER", "GET", "/v2/_catalog").body ==
        R"({"repositories":["other/box","team/box"]})");
}

TEST_CASE("registry server: a blob is removed once no manifest of its repository names it") {
  Place place;
  const image::TestImage image({packing::Tar().file("train", "1")});
  place.push(image, "v1");
  place.push(image, "v1", "/v2/other/box");
  const std::string layer = image::digest_of(image.layers[0]);
  const std::string manifest = image::digest_of(image.manifest);
  const auto status = [&](const std::string& method, const std::string& target) {
    return place.ask("USER", method, target).status;
  };
  for (const std::string& blob : {layer, image::digest_of(image.config)}) {
    const http::Reply refused = place.ask("USER", "DELETE", "/v2/team/box/blobs/" + blob);
    CHECK(refused.status == 405);
    CHECK(refused.body.find("UNSUPPORTED") != std::string::npos);
    CHECK(refused.body.find(manifest) != std::string::npos);
  }
  CHECK(status("GET", "/v2/team/box/blobs/" + layer) == 200);
  CHECK(status("DELETE", "/v2/team/box/manifests/v1") == 202);  // The tag alone.
  CHECK(status("DELETE", "/v2/team/box/blobs/" + layer) == 405);

  // A job runs the image.
  const std::shared_ptr<image::Store> store = *place.server.store();
  const image::Meaning meaning{manifest, "team/box"};
  const image::Image unpacked = **store->unpack(meaning);
  const image::Lease lease = *store->lease(unpacked);

  CHECK(status("DELETE", "/v2/team/box/manifests/" + manifest) == 202);
  CHECK(status("DELETE", "/v2/team/box/blobs/" + layer) == 202);
  CHECK(status("DELETE", "/v2/team/box/blobs/" + layer) == 404);
  CHECK(status("GET", "/v2/team/box/blobs/" + layer) == 404);
  CHECK(status("DELETE", "/v2/nobodys/box/blobs/" + layer) == 404);
  CHECK(status("GET", "/v2/other/box/blobs/" + layer) == 200);  // Another repository's stays.
  CHECK(status("GET", "/v2/other/box/manifests/v1") == 200);
  REQUIRE(*store->prune({.all = true, .bytes_max = {}}));
  CHECK(std::filesystem::exists(unpacked.layers[0]));
}

TEST_CASE("registry server: an upload cannot be continued with another key") {
  Place place;
  const http::Reply begun = place.ask("USER", "POST", "/v2/box/blobs/uploads/");
  REQUIRE(begun.status == 202);
  const std::string at = header(begun, "Location");
  CHECK(place.ask("OTHER", "PATCH", at, "bytes").status == 404);
  CHECK(place.ask("OTHER", "DELETE", at).status == 404);
  const std::string digest = image::digest_of("bytes");
  CHECK(place.ask("OTHER", "PUT", at + "?digest=" + digest, "bytes").status == 404);
  CHECK(place.ask("USER", "PUT", at + "?digest=" + digest, "bytes").status == 201);
}

TEST_CASE("registry server: a client with an answer may send the next request at once") {
  Place place;
  const std::string at = header(place.ask("USER", "POST", "/v2/box/blobs/uploads/"), "Location");
  int next = 0;
  const auto status = [&] { next = place.ask("USER", "GET", at).status; };
  CHECK(place.ask("USER", "PATCH", at, "bytes", status).status == 202);
  CHECK(next == 204);
  CHECK(place.ask("USER", "GET", at, "", status).status == 204);
  CHECK(next == 204);
  place.ask("USER", "DELETE", at, "", status);
  CHECK(next == 404);
}

TEST_CASE("registry server: without a store it says so, and finds it once it is there") {
  Place place;
  bool there = false;
  RegistryServer server(place.keys, {.open_store = [&]() -> Result<image::Store> {
                                       if (!there) return fail(Errc::system, "no disk");
                                       return image::Store::open(place.scratch.path + "/late");
                                     },
                                     .now = [] { return now; }});
  const auto status = [&] {
    loop::Loop loop;
    loop::Tasks tasks(loop);
    Asked asked(loop, "GET", "/v2/_catalog", place.login("USER"), "");
    tasks.start(answer_one(server, asked));
    loop.run();
    return asked.answer.status;
  };
  CHECK(status() == 503);
  there = true;
  CHECK(status() == 200);
}

}  // namespace
}  // namespace muster::registry
