#include "server/front/machine_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::server {
namespace {

constexpr UnixMillis now = std::chrono::hours(1000);

TEST_CASE("machine view: used resources with their holders, and the waiting jobs in order") {
  jobs::Queue queue({{"gpu", 4}, {"memory", 100}});
  queue.add({"big", {{"gpu", 3}, {"cpu", 2000}}, "AKIAONE"});
  queue.add({"next", {{"gpu", 4}}});
  queue.add({"last", {{"gpu", 2}}});
  REQUIRE(queue.start(now) == std::vector<std::string>{"big"});
  const Json view = machine_view(queue, now, false);
  CHECK(view.at("resources") == Json::parse(R"([{"name": "cpu", "held": 2000},
      {"name": "gpu", "held": 3, "of": 4}, {"name": "memory", "held": 0, "of": 100}])"));
  REQUIRE(view.at("runs").size() == 1);
  CHECK(view.at("runs")[0].at("job") == "big");
  CHECK(view.at("runs")[0].at("key") == "AKIAONE");
  CHECK(view.at("runs")[0].at("since") == now.count());
  REQUIRE(view.at("waits").size() == 2);
  CHECK(view.at("waits")[0].at("job") == "next");
  CHECK(view.at("waits")[0].at("why") == queue.why_waiting("next", now));
  CHECK(view.at("waits")[1].at("job") == "last");
  CHECK(view.at("elsewhere") == false);
}

TEST_CASE("machine view: a resource that is short says why, and so do the jobs that wait for it") {
  jobs::Queue queue({{"gpu", 3}}, {}, {{"gpu", "gpu=0 needs recovery: Reset"}});
  queue.add({"big", {{"gpu", 2}}});
  queue.add({"next", {{"gpu", 2}}});
  REQUIRE(queue.start(now) == std::vector<std::string>{"big"});
  const Json view = machine_view(queue, now, false);
  CHECK(view.at("resources")[0].at("note") == "gpu=0 needs recovery: Reset");
  CHECK(view.at("waits")[0].at("why").get<std::string>().starts_with(
      "place 1 of 1; gpus: 2 requested, 1 of 3 free (gpu=0 needs recovery: Reset); starts when "
      "big"));
}

TEST_CASE("machine view: long lists are cut, and their lengths shown") {
  jobs::Queue queue({{"gpu", 1}});
  for (int i = 0; i < 500; ++i)
    queue.add({.job = "j" + std::to_string(i), .needs = {{"gpu", 1}}, .submitted = now});
  const Json view = machine_view(queue, now, true);
  CHECK(view.at("waits").size() == machine_rows_max);
  CHECK(view.at("wait_count") == 500);
  CHECK(view.at("elsewhere") == true);
}

}  // namespace
}  // namespace muster::server
