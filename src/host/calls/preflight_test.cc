#include "host/calls/preflight.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "host/calls/testing.h"
#include "job/preflight/health.h"
#include "net/loop/testing.h"

namespace muster::calls {
namespace {

using job::Message;
using preflight::HostFacts;
using preflight::PairFacts;
using preflight::PairTask;

TEST_CASE("preflight: the variable selects the mode, and a steward's hosts have none by default") {
  struct {
    Env env;
    bool has_steward;
    PreflightMode want;
  } const cases[] = {
      {{}, false, PreflightMode::light},
      {{}, true, PreflightMode::off},
      {{{"MUSTER_PREFLIGHT", "light"}}, true, PreflightMode::light},
      {{{"MUSTER_PREFLIGHT", "off"}}, false, PreflightMode::off},
      {{{"MUSTER_PREFLIGHT", "full"}}, false, PreflightMode::full},
      {{{"MUSTER_PREFLIGHT", "json"}}, false, PreflightMode::full},
  };
  for (const auto& c : cases) {
    const Result<PreflightOptions> options = preflight_options(c.env, c.has_steward);
    REQUIRE(options);
    CHECK(options->mode == c.want);
  }
  for (const char* wrong : {"", "on", "FULL"})
    CHECK_FALSE(preflight_options({{"MUSTER_PREFLIGHT", wrong}}, false));
  CHECK(preflight_options({{"MUSTER_PREFLIGHT", "yes"}}, false).error().text ==
        "MUSTER_PREFLIGHT is \"yes\"; expected off, light, full or json");
  CHECK_FALSE(preflight_options({{"MUSTER_PREFLIGHT_DISK_GIB", "much"}}, false));
}

TEST_CASE("preflight: members read the mode that the start message requests") {
  for (const PreflightMode mode : {PreflightMode::off, PreflightMode::light, PreflightMode::full})
    CHECK(mode_in(start_text(mode)) == mode);
  CHECK(start_text(PreflightMode::off) == "{}");
  CHECK(mode_in("no JSON") == PreflightMode::off);
  CHECK(mode_in(R"({"preflight":"of a later version"})") == PreflightMode::light);
}

/// A leader whose members are the test.
struct Led {
  Led() {
    training.current_host = training.leader = "127.0.0.1";
    training.hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
    training.interface = "no-such-interface";
    options.env = {{"MUSTER_STATE", state}};
    options.thresholds = {.disk_gib = 0, .memory_percent = 0, .latency_us = 1e9};
  }

  /// Members tell `facts` as soon as the leader asks, and answer what is measured by `ways`.
  Result<void> run(const HostFacts& second, const HostFacts& third) {
    PreflightLead::Post post = [this](const std::string& to, Message type,
                                      std::string_view payload) {
      heard.push_back({to, type});
      if (type != Message::preflight_pair) return;
      const Result<PairTask> task = preflight::pair_task_from(payload);
      REQUIRE(task);
      answer(to, *task);
    };
    lead.emplace(loop, training, options, log, std::move(post));
    if (keep) lead->keep_by(keep);
    Result<void> end;
    loop::run_task(loop, story(*this, second, third, end));
    return end;
  }
  static loop::Task<> story(Led& self, HostFacts second, HostFacts third, Result<void>& end) {
    self.lead->member_facts("127.0.0.2", to_text(preflight::to_json(second)));
    self.lead->member_facts("127.0.0.3", to_text(preflight::to_json(third)));
    end = co_await self.lead->run();
  }

  void answer(const std::string& from, const PairTask& task) {
    Json ways = Json::array();
    for (const PairFacts& way : answers)
      if ((way.from == task.self && way.to == task.peer) ||
          (way.from == task.peer && way.to == task.self) || lies)
        ways.push_back(preflight::to_json(way));
    lead->member_ways(from, to_text(ways));
  }

  struct Posted {
    std::string to;
    Message type;
    bool operator==(const Posted&) const = default;
  };
  ~Led() { static_cast<void>(remove_tree(state)); }
  Led(const Led&) = delete;
  Led& operator=(const Led&) = delete;

  std::string state = *make_private_folder("/tmp", "muster-preflight-");
  loop::Loop loop;
  Paper said;
  Log log{said.file.get(), "test", Log::Level::info};
  job::Training training;
  PreflightOptions options{.mode = PreflightMode::light};
  std::vector<PairFacts> answers;
  bool lies = false;
  PreflightLead::Keep keep;
  std::map<std::string, std::string> kept;
  std::vector<Posted> heard;
  std::optional<PreflightLead> lead;
};

HostFacts member(const std::string& package) {
  HostFacts facts = preflight::HostFacts{};
  facts.clock_unix_ms = wall_time().count();
  facts.packages = {{"torch", package}};
  facts.addresses = {"127.0.0.1"};
  facts.port = 1;  // No listener there.
  return facts;
}

TEST_CASE_FIXTURE(Led, "preflight: the light one reports the outlier and lets the job run") {
  HostFacts late = member("2.1.0");
  late.clock_unix_ms -= 41000;
  CHECK(run(member("2.1.0"), late));
  CHECK(said.has("preflight: torch: none on 127.0.0.1"));
  CHECK(said.has("preflight: the clock of 127.0.0.3 is 41 s behind the others'"));
  CHECK(heard == std::vector<Posted>{{"127.0.0.2", Message::preflight_over},
                                     {"127.0.0.3", Message::preflight_over}});
}

TEST_CASE_FIXTURE(Led, "preflight: a route that does not open ends a full one, at its end") {
  options.mode = PreflightMode::full;
  answers = {{"127.0.0.2", "127.0.0.3", 0, 0, "Connection refused"},
             {"127.0.0.3", "127.0.0.2", 0, 1e9, ""}};
  const Result<void> end = run(member("1"), member("1"));
  REQUIRE_FALSE(end);
  CHECK(end.error().text.starts_with("the hosts cannot work together: 127.0.0.1"));
  CHECK(said.has("error: preflight: 127.0.0.2 → 127.0.0.3: no connection: Connection refused"));
  CHECK(heard.back() == Posted{"127.0.0.3", Message::preflight_over});
  const auto health = preflight::kept_health(preflight::health_folder(state));
  REQUIRE(health.size() == 3);
  CHECK(health.at("127.0.0.3").findings.front().find("Connection refused") != std::string::npos);
}

TEST_CASE_FIXTURE(Led,
                  "preflight: records go to their keeper if there is one, and then to no folder") {
  options.mode = PreflightMode::full;
  keep = [this](const std::string& host, const std::string& record) { kept[host] = record; };
  static_cast<void>(run(member("1"), member("1")));
  REQUIRE(kept.size() == 3);
  CHECK(preflight::health_from(kept.at("127.0.0.3")));
  CHECK(preflight::kept_health(preflight::health_folder(state)).empty());
}

TEST_CASE_FIXTURE(
    Led, "preflight: a host's report counts only for its own routes, and only when requested") {
  options.mode = PreflightMode::full;
  lies = true;
  answers = {{"127.0.0.1", "127.0.0.2", 0, 0, "a lie of another way"},
             {"algo-9", "127.0.0.2", 0, 0, "a lie of another host"}};
  const std::string unasked = R"([{"from":"127.0.0.2","to":"127.0.0.3","error":"too early"}])";
  static_cast<void>(run(member("1"), member("1")));
  lead->member_ways("127.0.0.2", unasked);
  lead->member_ways("127.0.0.2", "no JSON");
  CHECK_FALSE(said.has("127.0.0.3: no connection: a lie"));
  CHECK_FALSE(said.has("algo-9"));
  CHECK_FALSE(said.has("too early"));
}

TEST_CASE_FIXTURE(Led, "preflight: a host that reports nothing valid is named, not waited for") {
  const TimePoint begin = Clock::now();
  PreflightLead::Post post = [](const std::string&, Message, std::string_view) {};
  lead.emplace(loop, training, options, log, std::move(post));
  lead->member_facts("127.0.0.2", R"({"mtu":-1})");
  lead->member_facts("stranger", "{}");
  lead->lost("127.0.0.3");
  Result<void> end;
  struct Wait {
    static loop::Task<> run(PreflightLead& of, Result<void>& into) { into = co_await of.run(); }
  };
  loop::run_task(loop, Wait::run(*lead, end));
  CHECK(end);
  CHECK(said.has("127.0.0.2: preflight: invalid information about a host: mtu is out of range"));
  CHECK(said.has("preflight: 127.0.0.2 did not send information about itself in time"));
  CHECK_FALSE(said.has("127.0.0.3 did not send information"));
  CHECK(Clock::now() - begin < std::chrono::seconds(15));
}

}  // namespace
}  // namespace muster::calls
