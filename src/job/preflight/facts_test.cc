#include "job/preflight/facts.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::preflight {
namespace {

TEST_CASE("facts are parsed back unchanged, except for those that only the leader knows") {
  HostFacts facts;
  facts.node = "node1";
  facts.clock_unix_ms = 1766000000000;
  facts.disk_free_bytes = 5;
  facts.disk_bytes = 7;
  facts.mtu = 9000;
  facts.port = 40000;
  facts.addresses = {"10.0.0.1"};
  facts.gpus = {"A100"};
  facts.gpu_troubles = {"GPU 3 needs recovery: Reset"};
  facts.packages = {{"torch", "2.2.1"}};
  facts.names = {{"algo-2", {"10.0.0.2"}}, {"algo-3", {}}};
  const Result<HostFacts> got = host_facts_from(to_text(to_json(facts)));
  REQUIRE(got);
  CHECK(*got == facts);
}

TEST_CASE("a later version's fields are passed over, missing ones stay empty") {
  const Result<HostFacts> got = host_facts_from(R"({"colour":"red","node":"n"})");
  REQUIRE(got);
  CHECK(got->node == "n");
  CHECK(got->mtu == 0);
}

TEST_CASE("another host's word is bounded") {
  const Result<HostFacts> long_one =
      host_facts_from(R"({"node":")" + std::string(10000, 'x') + "\"}");
  REQUIRE(long_one);
  CHECK(long_one->node.size() == 256);
  for (const char* wrong :
       {"", "[]", "{", R"({"node":1})", R"({"mtu":-1})", R"({"mtu":1.5})", R"({"mtu":1e300})",
        R"({"disk_free_bytes":18446744073709551615})", R"({"port":65536})", R"({"addresses":{}})",
        R"({"addresses":[1]})", R"({"packages":[]})", R"({"packages":{"a":1}})",
        R"({"names":{"a":"b"}})", R"({"names":3})"}) {
    CAPTURE(wrong);
    const Result<HostFacts> got = host_facts_from(wrong);
    CHECK_FALSE(got);
  }
}

TEST_CASE("pairs are parsed back unchanged, and invalid ones are refused") {
  const PairFacts pair{"a", "b", 41.5, 2e10, ""};
  const PairFacts broken{"a", "b", 0, 0, "Connection refused"};
  const Json json = Json::array({to_json(pair), to_json(broken)});
  const Result<std::vector<PairFacts>> got = pairs_from(to_text(json));
  REQUIRE(got);
  CHECK(*got == std::vector<PairFacts>{pair, broken});
  for (const char* wrong : {"{}", "[1]", R"([{"from":1}])", R"([{"latency_us":-1}])",
                            R"([{"bits_per_second":"x"}])", R"([{"latency_us":1e19}])"}) {
    CAPTURE(wrong);
    CHECK_FALSE(pairs_from(wrong));
  }
  CHECK_FALSE(pairs_from(to_text(Json(std::vector<Json>(17, to_json(pair))))));
}

}  // namespace
}  // namespace muster::preflight
