#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "server/web/followers.h"
#include "server/web/visits.h"
#include "server/web/web_files.h"
#include "server/web/web_rules.h"

namespace muster::web {
namespace {

using namespace std::chrono_literals;

aws::RequestHead head_of(std::span<const aws::HeaderView> headers) {
  return {"POST", "/ui/call/visit", headers};
}

TEST_CASE("web: only paths of the page are accepted") {
  const std::string file = "/ui/" + std::string(web_edition()) + "/app/main.js";
  struct {
    std::string path;
    Wanted want;
    const char* name;
  } const cases[] = {
      {"/ui/", Wanted::view, ""},
      {"/ui/jobs", Wanted::view, ""},
      {"/ui/machine", Wanted::view, ""},
      {"/ui/runs", Wanted::view, ""},
      {"/ui/runs/compare", Wanted::view, ""},
      {"/ui/jobs/train-1", Wanted::view, ""},
      {"/ui/jobs/train-1/log", Wanted::view, ""},
      {"/ui/call/visit", Wanted::call, "visit"},
      {file, Wanted::file, "app/main.js"},
      {"/ui", Wanted::nothing, ""},
      {"/ui/jobs/", Wanted::nothing, ""},
      {"/ui/jobs/a/b/c", Wanted::nothing, ""},
      {"/ui/runs/a", Wanted::nothing, ""},
      {"/ui/jobs/%2e%2e", Wanted::nothing, ""},
      {"/ui/../healthz", Wanted::nothing, ""},
      {"/ui/call/", Wanted::nothing, ""},
      {"/ui/call/../visit", Wanted::nothing, ""},
      {"/ui/0000000000000000/app/main.js", Wanted::nothing, ""},
      {"/uix", Wanted::nothing, ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.path);
    const WebRoute route = web_route(c.path);
    CHECK(route.wanted == c.want);
    CHECK(route.name == c.name);
  }
}

TEST_CASE("web: files are found by their exact name alone") {
  const WebFile* index = find_web_file("index.html");
  REQUIRE(index != nullptr);
  CHECK(index->type == "text/html; charset=utf-8");
  CHECK(index->packed.starts_with("\x1f\x8b"));
  for (const char* name : {"", "app", "../README.md", "README.md", "/index.html", "INDEX.HTML"})
    CHECK(find_web_file(name) == nullptr);
}

TEST_CASE("web: the server may be called by addresses, localhost and its own names alone") {
  const std::vector<std::string> names = {"train.example"};
  for (const char* host : {"127.0.0.1:7700", "10.1.2.3", "[::1]:7700", "localhost:1", "LOCALHOST",
                           "Train.example:443"})
    CHECK(is_own_host(host, names));
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                           "train.example.", "1.2.3", "256.1.1.1", "[::1", "a@train.example"})
    CHECK_FALSE(is_own_host(host, names));
}

TEST_CASE("web: a request is the page's own by Sec-Fetch-Site, or else by its Origin") {
  struct {
    std::vector<aws::HeaderView> headers;
    bool tls;
    bool want;
  } const cases[] = {
      {{{"Sec-Fetch-Site", "same-origin"}}, false, true},
      {{{"Sec-Fetch-Site", "same-site"}}, false, false},
      {{{"Sec-Fetch-Site", "cross-site"}}, false, false},
      {{{"Sec-Fetch-Site", "none"}}, false, false},
      {{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://h:1"}, {"Host", "h:1"}}, false, false},
      {{{"Origin", "http://h:1"}, {"Host", "h:1"}}, false, true},
      {{{"Origin", "https://h:1"}, {"Host", "h:1"}}, true, true},
      {{{"Origin", "http://h:1"}, {"Host", "h:1"}}, true, false},
      {{{"Origin", "http://h:2"}, {"Host", "h:1"}}, false, false},
      {{{"Origin", "null"}, {"Host", "h:1"}}, false, false},
      {{{"Host", "h:1"}}, false, false},
  };
  for (const auto& c : cases) CHECK(is_from_own_page(head_of(c.headers), c.tls) == c.want);
}

TEST_CASE("web: a cookie that is sent twice is ignored") {
  CHECK(cookie_name("127.0.0.1:7700") == "muster-7700");
  CHECK(cookie_name("train.example") == "muster");
  const std::array<aws::HeaderView, 1> one = {{{"Cookie", "a=1; muster-1=x=y; muster-12=z"}}};
  CHECK(cookie_of(head_of(one), "muster-1") == "x=y");
  CHECK(cookie_of(head_of(one), "muster-12") == "z");
  CHECK(cookie_of(head_of(one), "muster").empty());
  const std::array<aws::HeaderView, 2> two = {{{"cookie", "m=1"}, {"Cookie", "m=2"}}};
  CHECK(cookie_of(head_of(two), "m").empty());
}

TEST_CASE("visits: a pass lets in once, and for a minute") {
  Visits visits;
  const std::string pass = visits.issue_pass("AK1", 1000ms);
  CHECK_FALSE(visits.use_pass("", 1000ms));
  CHECK_FALSE(visits.use_pass(pass + "0", 1000ms));
  CHECK(visits.use_pass(pass, 60'999ms) == "AK1");
  CHECK_FALSE(visits.use_pass(pass, 61'000ms));
  const std::string late = visits.issue_pass("AK1", 1000ms);
  CHECK_FALSE(visits.use_pass(late, 61'000ms));
}

TEST_CASE("visits: the oldest unused pass of a key is removed, and no other key's") {
  Visits visits;
  const std::string other = visits.issue_pass("AK2", 0ms);
  const std::string first = visits.issue_pass("AK1", 1ms);
  const std::string second = visits.issue_pass("AK1", 2ms);
  for (std::size_t i = 2; i <= Visits::passes_of_key_max; ++i) visits.issue_pass("AK1", 3ms);
  CHECK_FALSE(visits.use_pass(first, 4ms));
  CHECK(visits.use_pass(second, 4ms) == "AK1");
  CHECK(visits.use_pass(other, 4ms) == "AK2");
}

TEST_CASE("visits: a visit lasts twelve hours, and its key alone sees and ends it") {
  Visits visits;
  const std::string cookie = visits.begin("AK1", "a browser", 5ms);
  REQUIRE(visits.find(cookie, 6ms));
  CHECK(visits.find(cookie, 6ms)->key == "AK1");
  CHECK(visits.of_key("AK2", 6ms).empty());
  const std::string id = visits.of_key("AK1", 6ms).at(0).id;
  CHECK_FALSE(visits.find(id, 6ms));
  CHECK_FALSE(visits.end(id, "AK2"));
  CHECK_FALSE(visits.find(cookie, 5ms + Visits::visit_lasts));
  const std::string other = visits.begin("AK1", "b", 5ms);
  CHECK(visits.end(visits.of_key("AK1", 6ms).at(0).id, "AK1"));
  CHECK_FALSE(visits.find(other, 6ms));
}

TEST_CASE("visits: the oldest of one key's is removed when there are too many") {
  Visits visits;
  const std::string first = visits.begin("AK1", "", 1ms);
  const std::string others = visits.begin("AK2", "", 0ms);
  for (std::size_t i = 1; i <= Visits::visits_of_key_max; ++i)
    visits.begin("AK1", "", UnixMillis(1 + i));
  CHECK_FALSE(visits.find(first, 50ms));
  CHECK(visits.find(others, 50ms));
  CHECK(visits.of_key("AK1", 50ms).size() == Visits::visits_of_key_max);
}

TEST_CASE("followers: a key with many streams gives its oldest up for a key with fewer") {
  Followers followers({.all = 6, .of_visit = 2});
  std::vector<Followers::Id> many;
  for (const char* visit : {"a", "a", "b", "b", "c", "c"})
    many.push_back(*followers.begin("AK1", visit));
  CHECK_FALSE(followers.begin("AK1", "a"));  // The limit of a visit.
  CHECK_FALSE(followers.begin("AK1", "d"));
  const std::optional<Followers::Id> other = followers.begin("AK2", "e");
  REQUIRE(other);
  CHECK_FALSE(followers.stays(many[0]));
  CHECK(followers.stays(many[1]));
  CHECK_FALSE(followers.begin("AK1", "a"));  // AK1 has five, AK2 one.
  CHECK(followers.begin("AK2", "e"));
  CHECK(followers.begin("AK2", "f"));
  CHECK_FALSE(followers.begin("AK2", "f"));  // Three each.
  CHECK_FALSE(followers.begin("AK1", "g"));
  CHECK(followers.stays(*other));
  followers.end(*other);
  followers.end(many[0]);
  CHECK(followers.begin("AK1", "g"));
  CHECK_FALSE(followers.begin("AK1", "g"));
}

}  // namespace
}  // namespace muster::web
