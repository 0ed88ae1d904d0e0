#include "job/preflight/health.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::preflight {
namespace {

const Finding finding{Finding::Level::warning, "mtu", {"node2"}, "MTU: 1400 on node2, …"};
constexpr UnixMillis at{1795399800000};  // 2026-11-23 02:10

std::string dated(UnixMillis time) {
  return time == at ? "2026-11-23 03:10 +01:00" : "";
}

HostFacts named(const std::string& host) {
  HostFacts facts;
  facts.host = host;
  return facts;
}

TEST_CASE("a record holds the findings that name its host") {
  const Result<Health> odd = health_from(health_text(named("node2"), {finding}, at));
  REQUIRE(odd);
  CHECK(*odd == Health{at, {finding.text}});
  CHECK(health_words(*odd, dated) == "1 finding, 2026-11-23 03:10 +01:00: MTU: 1400 on node2, …");
  const Result<Health> well = health_from(health_text(named("node1"), {finding}, at));
  REQUIRE(well);
  CHECK(health_words(*well, dated) == "ok, 2026-11-23 03:10 +01:00");
  const Result<Health> sick = health_from(health_text(
      named("node2"),
      {finding,
       {Finding::Level::warning, gpu_health_kind, {"node2"}, "GPU 3 needs recovery: Reset"},
       {Finding::Level::warning, gpu_health_kind, {"node2"}, "GPU 5: slowed down: too hot"}},
      at));
  REQUIRE(sick);
  CHECK(health_words(*sick, dated) ==
        "3 findings, 2026-11-23 03:10 +01:00: GPU 3 needs recovery: Reset; GPU 5: slowed down: too "
        "hot");
  for (const char* wrong :
       {"", "[]", "{}", R"({"time":"soon","findings":[]})", R"({"time":1,"findings":[]})",
        R"({"time":"2026-11-23T02:10:00Z"})", R"({"time":"2026-11-23T02:10:00Z","findings":[1]})"})
    CHECK_FALSE(health_from(wrong));
}

TEST_CASE("another writer's record is kept under a node's name, if it is valid") {
  const Result<std::string> top = make_private_folder("/tmp", "muster-health-");
  REQUIRE(top);
  const std::string folder = health_folder(*top);
  const std::string record = health_text(named("algo-2"), {}, at);
  REQUIRE(keep_record(folder, "node9", record));
  CHECK(kept_health(folder).at("node9").at == at);
  CHECK_FALSE(keep_record(folder, "node9", "{}"));
  CHECK(kept_health(folder).at("node9").at == at);
  for (const char* wrong : {"../escape", ".hidden", "", "a b"})
    CHECK_FALSE(keep_record(folder, wrong, record));
  for (std::size_t i = 1; i < kept_hosts_max; ++i)
    REQUIRE(write_file(folder + "/n" + std::to_string(i), ""));
  REQUIRE(keep_record(folder, "node9", record));
  CHECK(keep_record(folder, "node8", record).error().code == Errc::denied);
  CHECK(remove_tree(*top));
}

TEST_CASE("records are kept by host, the last one each, and no name leads out of the folder") {
  const Result<std::string> top = make_private_folder("/tmp", "muster-health-");
  REQUIRE(top);
  const std::string folder = health_folder(*top);
  CHECK(kept_health(folder).empty());
  const std::vector<HostFacts> hosts = {named("node1"), named("10.0.0.2"), named("../escape"),
                                        named(".hidden"), named("")};
  REQUIRE(keep_health(folder, hosts, {}, UnixMillis(1)));
  REQUIRE(keep_health(folder, {named("node1")}, {}, at));
  REQUIRE(write_file(folder + "/broken.json", "{"));
  const std::map<std::string, Health> kept = kept_health(folder);
  CHECK(kept.size() == 2);
  CHECK(kept.at("node1").at == at);
  CHECK(kept.at("10.0.0.2").at == UnixMillis(1));
  CHECK_FALSE(read_file(*top + "/escape.json"));
  static_cast<void>(remove_tree(*top));
}

}  // namespace
}  // namespace muster::preflight
