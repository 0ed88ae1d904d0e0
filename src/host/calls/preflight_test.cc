#include "host/calls/preflight.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
  for (const char* none : {"no JSON", "[]", "\"preflight\"", "{}", R"({"mode":"full"})"})
    CHECK(mode_in(none) == PreflightMode::off);
  CHECK(mode_in(R"({"preflight":"of a later version"})") == PreflightMode::light);
}

TEST_CASE("preflight: a host of a large job looks up only the leader and its two neighbours") {
  const struct {
    int hosts;
    const char* own;
    std::vector<std::string> want;
  } cases[] = {
      {3, "127.0.0.2", {"127.0.0.1", "127.0.0.2", "127.0.0.3"}},
      {17, "127.0.0.5", {"127.0.0.1", "127.0.0.4", "127.0.0.6"}},
      {17, "127.0.0.1", {"127.0.0.1", "127.0.0.17", "127.0.0.2"}},
      {17, "127.0.0.17", {"127.0.0.1", "127.0.0.16"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.hosts);
    CAPTURE(c.own);
    loop::Loop loop;
    job::Training training;
    for (int i = 1; i <= c.hosts; ++i) training.hosts.push_back("127.0.0." + std::to_string(i));
    training.leader = "127.0.0.1";
    training.current_host = c.own;
    const PreflightOptions options;
    PreflightHost host(loop, training, options);
    HostFacts facts;
    const auto collect = [](PreflightHost& of, HostFacts& into) -> loop::Task<> {
      into = co_await of.facts(false);
    };
    loop::run_task(loop, collect(host, facts));
    std::vector<std::string> names;
    for (const auto& [name, addresses] : facts.names) names.push_back(name);
    CHECK(names == c.want);
    CHECK(facts.port == 0);  // Nothing listens.
  }
}

/// A standard stream that goes to the test's file.
struct Redirected {
  Redirected(int which, const Fd& file) : stream(which), own(::dup(which)) {
    ::dup2(file.get(), which);
  }
  ~Redirected() { ::dup2(own.get(), stream); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  int stream;
  Fd own;
};

/// A leader whose members are the test.
struct Led {
  Led() {
    training.current_host = training.leader = "127.0.0.1";
    training.hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
    training.interface = "no-such-interface";
    options.env = {{"MUSTER_STATE", state}};
    options.thresholds = {.disk_gib = 0, .memory_percent = 0, .latency_us = 1e9};
  }

  /// The first members tell `facts` as soon as the leader asks, and answer what is measured by
  /// `answers`. The others are lost.
  Result<void> run(const std::vector<HostFacts>& facts) {
    PreflightLead::Post post = [this](const std::string& to, Message type,
                                      std::string_view payload) {
      heard.push_back({to, type});
      if (type != Message::preflight_pair) return;
      const Result<PairTask> task = preflight::pair_task_from(payload);
      REQUIRE(task);
      tasks.push_back(*task);
      if (repeats) lead->member_facts(to, to_text(preflight::to_json(changed)));
      answer(to, *task);
      if (repeats) answer(to, *task, "changed");
    };
    lead.emplace(loop, training, options, log, std::move(post));
    if (keep) lead->keep_by(keep);
    Result<void> end;
    loop::run_task(loop, story(*this, facts, end));
    return end;
  }
  static loop::Task<> story(Led& self, std::vector<HostFacts> facts, Result<void>& end) {
    for (std::size_t i = 1; i < self.training.hosts.size(); ++i)
      if (i <= facts.size())
        self.lead->member_facts(self.training.hosts[i], to_text(preflight::to_json(facts[i - 1])));
      else
        self.lead->lost(self.training.hosts[i]);
    end = co_await self.lead->run();
  }

  void answer(const std::string& from, const PairTask& task, const std::string& error = {}) {
    Json ways = Json::array();
    if (!error.empty())
      ways.push_back(preflight::to_json(PairFacts{task.self, task.peer, 0, 0, error}));
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
  std::vector<PairTask> tasks;  ///< What members were to measure.
  bool repeats = false;         ///< Members tell other facts and ways, too, when they answer.
  HostFacts changed;
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

/// Six hosts as a ring. The leader's neighbours do not listen, so two pairs measure, 3 with 4 and 4
/// with 5, and the leader itself never does.
struct TwoPairs : Led {
  TwoPairs() {
    training.hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"};
    options.mode = PreflightMode::full;
    options.thresholds.latency_us = 1;
    members.front().port = members.back().port = 0;
    answers = {{"127.0.0.3", "127.0.0.4", 10, 1e10, ""},
               {"127.0.0.4", "127.0.0.3", 10, 1e10, ""},
               {"127.0.0.4", "127.0.0.5", 10, 1e10, ""}};
  }
  /// How often a member was to measure.
  long measured(const std::string& host) const {
    return std::count(heard.begin(), heard.end(), Posted{host, Message::preflight_pair});
  }
  std::vector<HostFacts> members = std::vector<HostFacts>(5, member("1"));
};

TEST_CASE("preflight: a route that is slow in any direction is measured once more, no other is") {
  const struct {
    PairFacts way;
    long third, fourth, fifth;
  } cases[] = {
      {{"127.0.0.3", "127.0.0.4", 10, 1e10, ""}, 1, 2, 1},
      {{"127.0.0.3", "127.0.0.4", 10, 1e9, ""}, 2, 3, 1},
      {{"127.0.0.4", "127.0.0.3", 10, 1e9, ""}, 2, 3, 1},
      {{"127.0.0.4", "127.0.0.5", 900, 1e10, ""}, 1, 3, 2},
      {{"127.0.0.5", "127.0.0.4", 900, 1e10, ""}, 1, 3, 2},
      {{"127.0.0.5", "127.0.0.4", 10, 1e9, "Connection refused"}, 1, 3, 2},
      {{"127.0.0.5", "127.0.0.4", 0, 0, "Connection refused"}, 1, 2, 1},
  };
  for (const auto& c : cases) {
    CAPTURE(c.way.from);
    CAPTURE(c.way.bits_per_second);
    TwoPairs each;
    std::erase_if(each.answers, [&](const PairFacts& way) {
      return way.from == c.way.from && way.to == c.way.to;
    });
    each.answers.push_back(c.way);
    static_cast<void>(each.run(each.members));
    CHECK(each.measured("127.0.0.3") == c.third);
    CHECK(each.measured("127.0.0.4") == c.fourth);
    CHECK(each.measured("127.0.0.5") == c.fifth);
    CHECK(each.measured("127.0.0.2") == 0);
  }
}

TEST_CASE_FIXTURE(TwoPairs,
                  "preflight: hosts that measure get each other's first address, if any") {
  members[1].addresses.clear();
  members[2].addresses = {"10.0.0.4", "10.1.0.4"};
  static_cast<void>(run(members));
  REQUIRE(tasks.size() == 4);
  CHECK(tasks[0].self == "127.0.0.3");
  CHECK(tasks[0].connects);
  CHECK(tasks[0].address == "10.0.0.4");
  CHECK(tasks[1].self == "127.0.0.4");
  CHECK_FALSE(tasks[1].connects);
  CHECK(tasks[1].address.empty());
  CHECK(tasks[0].hello == tasks[1].hello);
  CHECK(tasks[0].hello != tasks[2].hello);
}

TEST_CASE_FIXTURE(TwoPairs, "preflight: what a host reports a second time does not count") {
  repeats = true;
  changed = member("9.9");
  static_cast<void>(run(members));
  CHECK(said.has("torch: none on 127.0.0.1"));
  CHECK_FALSE(said.has("9.9"));
  CHECK_FALSE(said.has("changed"));
}

TEST_CASE_FIXTURE(TwoPairs, "preflight: with json the leader writes all results to its output") {
  options.json = true;
  members[4].clock_unix_ms -= 41000;
  members[0].node = "no\u202ede";
  answers.push_back({"127.0.0.5", "127.0.0.4", 0, 0, "Connection refused"});
  const Paper out;
  const Paper err;
  {
    const Redirected to_out(STDOUT_FILENO, out.file);
    const Redirected to_err(STDERR_FILENO, err.file);
    CHECK_FALSE(run(members));
  }
  CHECK(err.has("HOST "));
  CHECK(out.text().ends_with("}\n"));
  CHECK_FALSE(out.has("\u202e"));  // A terminal may show it.
  const Result<Json> all = parse_json(out.text());
  REQUIRE(all);
  const Json& hosts = (*all)["Hosts"];
  REQUIRE(hosts.size() == 6);
  CHECK(hosts[0]["host"] == "127.0.0.1");
  CHECK(hosts[1]["node"] == "no\u202ede");
  CHECK(hosts[5]["host"] == "127.0.0.6");
  CHECK(hosts[5]["clock_ahead_ms"] < -40000);
  CHECK(hosts[5]["packages"]["torch"] == "1");
  const Json& ways = (*all)["Ways"];
  REQUIRE(ways.size() == 4);
  CHECK(ways[0]["from"] == "127.0.0.3");
  CHECK(ways[0]["bits_per_second"] == 1e10);
  CHECK(ways[3]["error"] == "Connection refused");
  const Json& findings = (*all)["Findings"];
  const auto port = std::find_if(findings.begin(), findings.end(),
                                 [](const Json& each) { return each["kind"] == "port"; });
  REQUIRE(port != findings.end());
  CHECK((*port)["level"] == "error");
  CHECK((*port)["hosts"] == Json::array({"127.0.0.5", "127.0.0.4"}));
}

TEST_CASE("preflight: results that cannot be written end a full one with the reason") {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    CAPTURE(stream);
    TwoPairs each;
    each.options.json = true;
    const Paper rest;
    const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    Result<void> end;
    {
      const Redirected out(STDOUT_FILENO, stream == STDOUT_FILENO ? full : rest.file);
      const Redirected err(STDERR_FILENO, stream == STDERR_FILENO ? full : rest.file);
      end = each.run(each.members);
    }
    REQUIRE_FALSE(end);
    CHECK(end.error().text.find("No space left on device") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Led, "preflight: a host that all others have left is checked alone, and works") {
  options.mode = PreflightMode::full;
  training.interface = "lo";
  CHECK(run({}));
  CHECK(said.has("preflight: checked 1 host in "));
  CHECK_FALSE(said.has("did not send information"));
  CHECK(std::find(heard.begin(), heard.end(), Posted{"127.0.0.2", Message::preflight_pair}) ==
        heard.end());
  CHECK(preflight::kept_health(preflight::health_folder(state)).size() == 1);
}

TEST_CASE_FIXTURE(TwoPairs, "preflight: a result that cannot be stored is logged, no more") {
  options.env = {{"MUSTER_STATE", "/dev/null/state"}};
  const Result<void> end = run(members);
  CHECK(said.has("preflight: checked 6 hosts in "));
  CHECK(said.has("preflight: cannot store the result for sm nodes: "));
  REQUIRE_FALSE(end);
  CHECK(end.error().text.starts_with("the hosts cannot work together: "));
}

TEST_CASE_FIXTURE(Led, "preflight: the light one reports the outlier and lets the job run") {
  HostFacts late = member("2.1.0");
  late.clock_unix_ms -= 41000;
  CHECK(run({member("2.1.0"), late}));
  CHECK(said.has("preflight: torch: none on 127.0.0.1"));
  CHECK(said.has("preflight: the clock of 127.0.0.3 is 41 s behind the others'"));
  CHECK(heard == std::vector<Posted>{{"127.0.0.2", Message::preflight_over},
                                     {"127.0.0.3", Message::preflight_over}});
}

TEST_CASE_FIXTURE(Led, "preflight: a route that does not open ends a full one, at its end") {
  options.mode = PreflightMode::full;
  answers = {{"127.0.0.2", "127.0.0.3", 0, 0, "Connection refused"},
             {"127.0.0.3", "127.0.0.2", 0, 1e9, ""}};
  const Result<void> end = run({member("1"), member("1")});
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
  static_cast<void>(run({member("1"), member("1")}));
  REQUIRE(kept.size() == 3);
  CHECK(preflight::health_from(kept.at("127.0.0.3")));
  CHECK(preflight::kept_health(preflight::health_folder(state)).empty());
}

TEST_CASE_FIXTURE(
    Led, "preflight: a host's report counts only for its own routes, and only when requested") {
  options.mode = PreflightMode::full;
  lies = true;
  answers = {{"127.0.0.1", "127.0.0.2", 0, 0, "a lie of another way"},
             {"algo-9", "127.0.0.2", 0, 0, "a lie of another host"},
             {"127.0.0.2", "algo-9", 0, 0, "a lie of a way that it does not measure"}};
  const std::string unasked = R"([{"from":"127.0.0.2","to":"127.0.0.3","error":"too early"}])";
  static_cast<void>(run({member("1"), member("1")}));
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
