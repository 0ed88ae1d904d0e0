#include "job/wire/usage.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

TEST_CASE("usage: a card is throttled for reasons that have names, others are left out") {
  struct {
    std::int64_t bits;
    std::vector<std::string_view> names;
  } const cases[] = {
      {-1, {}},
      {0, {}},
      {0x1, {}},          // Idle.
      {0x2 | 0x100, {}},  // Clocks that somebody set, a display's.
      {0x4, {"sw_power_cap"}},
      {0x8, {"hw_slowdown"}},
      {0x8 | 0x40, {"hw_thermal_slowdown"}},
      {0x4 | 0x8 | 0x80, {"sw_power_cap", "hw_power_brake_slowdown"}},
      {0x10 | 0x20, {"sync_boost", "sw_thermal_slowdown"}},
      {0x200, {}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.bits);
    CHECK(throttle_reasons(each.bits) == each.names);
  }
}

TEST_CASE("usage: a job's hosts come back as they were, with what is not known of their cards") {
  const std::vector<HostUsage> hosts = {
      {.host = "algo-1",
       .time = UnixMillis(1'700'000'000'123),
       .usage = {.memory_bytes = 1,
                 .processor_time = std::chrono::microseconds(2),
                 .processes = 3,
                 .disk = {4, 5},
                 .network = {-1, -1},
                 .gpus = {{1, 50, 6, {.memory_total_bytes = 7, .power_watts = 412}},
                          {2, -1, 0, {}},
                          {3, 1, 2, {7, 1, 71, 1980, 2619, 0x4}, {8, 0, -1, 9}}}}},
      {.host = "algo-2", .usage = {}}};
  CHECK(*job_usage_from_json(to_json("demo", hosts)) == hosts);
  CHECK(to_json("demo", hosts)["hosts"][0]["usage"]["gpus"][2]["throttled"] ==
        Json{"sw_power_cap"});
  CHECK(to_json(hosts[0])["usage"]["gpus"][1] ==
        Json{{"number", 2}, {"percent", -1}, {"memory", 0}});
}

TEST_CASE("usage: malformed answers are errors") {
  const std::string good =
      R"("usage":{"memory":1,"processor_us":1,"processes":1,"disk_read":1,"disk_written":1,)"
      R"("net_in":1,"net_out":1,"gpus":)";
  REQUIRE(host_usage_from(R"({"host":"a","time":1,)" + good + "[]}}"));
  for (const std::string& text : {
           std::string("7"),
           R"({"time":1,)" + good + "[]}}",
           R"({"host":7,"time":1,)" + good + "[]}}",
           R"({"host":"a","time":-1,)" + good + "[]}}",
           std::string(R"({"host":"a","time":1})"),
           R"({"host":"a","time":1,)" + good +
               R"([{"number":1,"percent":1,"memory":1,"watts":-2}]}})",
           R"({"host":"a","time":1,)" + good +
               R"([{"number":1,"percent":1,"memory":1,"watts":"x"}]}})",
           R"({"host":"a","time":1,)" + good +
               R"([{"number":1,"percent":1,"memory":1},{"number":1,"percent":2,"memory":1}]}})",
           R"({"host":"a","time":1,)" + good + R"([{"number":10000,"percent":1,"memory":1}]}})",
           R"({"host":"a","time":1,)" + good + R"([{"number":1,"percent":101,"memory":1}]}})",
           R"({"host":"a","time":1,)" + good + R"([{"number":1,"percent":1,"memory":1e30}]}})",
           R"({"host":")" + std::string(256, 'a') + R"(","time":1,)" + good + "[]}}",
       }) {
    CAPTURE(text);
    CHECK(!host_usage_from(text));
  }
  for (const char* text : {"7", "{}", R"({"hosts":{}})", R"({"hosts":[7]})"}) {
    CAPTURE(text);
    CHECK(!job_usage_from_json(*parse_json(text)));
  }
}

TEST_CASE("usage: a host has at most 64 cards, and an answer at most 10,000 hosts") {
  HostUsage host{.host = "algo-1", .usage = {}};
  for (int number = 0; number < 64; ++number) host.usage.gpus.push_back({.number = number});
  CHECK(host_usage_from_json(to_json(host)));
  host.usage.gpus.push_back({.number = 64});
  CHECK(!host_usage_from_json(to_json(host)));
  host.usage.gpus.clear();
  std::vector<HostUsage> hosts(10'000, host);
  CHECK(job_usage_from_json(to_json("demo", hosts)));
  hosts.push_back(host);
  CHECK(!job_usage_from_json(to_json("demo", hosts)));
}

}  // namespace
}  // namespace muster::job
