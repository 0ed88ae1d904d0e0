#include "job/launch/call.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

using namespace muster;
using namespace muster::launch;

namespace {

Call a_call() {
  Call call;
  call.name = "mpirun train.py";
  call.digest = "entry point train.py";
  call.hosts = {"algo-1", "algo-2"};
  call.rank.command = {
      {"python3", "a b\n", ""}, {{"NAME", "v=1\xff"}, {"EMPTY", ""}}, "/opt/ml/code"};
  call.rank.kept = {"NAME"};
  call.by_ssh = true;
  call.launcher = Command{{"mpirun", "-np", "4"}, {{"PATH", "/bin"}}, "/"};
  HostProgram server;
  server.name = "ps 0";
  server.command = Command{{"python", "t.py", "a=b c"}, {{"TF_CONFIG", "{}"}}, "/code"};
  server.decides = false;
  server.agent = true;
  call.programs = {server};
  call.data = "{\"ports\": [1]}";
  return call;
}

}  // namespace

TEST_CASE("call: a packed call is unpacked byte for byte") {
  const Call call = a_call();
  const Result<Call> got = unpack_call(pack(call));
  REQUIRE(got);
  CHECK(got->name == call.name);
  CHECK(got->digest == call.digest);
  CHECK(got->hosts == call.hosts);
  CHECK(got->rank.command.argv == call.rank.command.argv);
  CHECK(got->rank.command.env == call.rank.command.env);
  CHECK(got->rank.command.cwd == call.rank.command.cwd);
  CHECK(got->rank.kept == call.rank.kept);
  CHECK(got->by_ssh);
  CHECK(got->kind == call.kind);
  CHECK(got->data == call.data);
  REQUIRE(got->programs.size() == 1);
  CHECK(got->programs[0].name == "ps 0");
  CHECK(got->programs[0].rank == -1);
  CHECK(got->programs[0].command == call.programs[0].command);
  CHECK(!got->programs[0].decides);
  CHECK(got->programs[0].agent);
  CHECK(has_agent(got->programs));
  REQUIRE(got->launcher);
  CHECK(got->launcher->argv == call.launcher->argv);
  CHECK(got->launcher->env == call.launcher->env);
}

TEST_CASE("call: a payload that is cut anywhere is refused") {
  const std::string whole = pack(a_call());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(unpack_call(std::string_view(whole).substr(0, size)));
  }
}

TEST_CASE("call: an empty or malformed call is refused") {
  struct {
    const char* name;
    void (*change)(Call& call);
    bool good;
  } const cases[] = {
      {"direct, without ranks",
       [](Call& c) {
         c.kind = Call::Kind::direct;
         c.rank = {};
       },
       true},
      {"an exchange, of data alone",
       [](Call& c) {
         c.kind = Call::Kind::exchange;
         c.rank = {};
         c.programs.clear();
         c.launcher.reset();
       },
       true},
      {"no host", [](Call& c) { c.hosts.clear(); }, false},
      {"ranks that run nothing", [](Call& c) { c.rank = {}; }, false},
      {"a launcher that is none", [](Call& c) { c.launcher->argv.clear(); }, false},
      {"a program that is none", [](Call& c) { c.programs[0].command.argv.clear(); }, false},
      {"ranks that decide", [](Call& c) { c.ranks_decide = 6; }, true},
      {"ranks that a launcher starts", [](Call& c) { c.ranks = 6; }, true},
      {"ranks below none", [](Call& c) { c.ranks_decide = -1; }, false},
      {"a name as long as may be", [](Call& c) { c.name = std::string(1024, 'n'); }, true},
      {"a longer name", [](Call& c) { c.name = std::string(1025, 'n'); }, false},
      {"a long digest", [](Call& c) { c.digest = std::string(257, 'd'); }, false},
      {"long data", [](Call& c) { c.data = std::string(4097, 'd'); }, false},
      {"a rank below -1", [](Call& c) { c.programs[0].rank = -2; }, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Call call = a_call();
    c.change(call);
    CHECK(unpack_call(pack(call)).has_value() == c.good);
  }
}

TEST_CASE("call: nonsense is refused") {
  const std::string cases[] = {"", std::string("name\0digest\0", 12),
                               std::string("name\0digest\0-1\0", 15),
                               std::string("name\0digest\0"
                                           "99999999999999999999\0",
                                           33)};
  for (const std::string& payload : cases) CHECK_FALSE(unpack_call(payload));
  CHECK_FALSE(host_call_from("[]"));
  CHECK_FALSE(host_call_from(R"({"name": 1, "digest": ""})"));
  CHECK(host_call_from(host_call_text({"mpirun", "d", "x"}))->data == "x");
  CHECK_FALSE(call_result_from("{}"));
  CallResult result;
  result.verdict.outcome = job::Outcome::exited(3);
  result.data = {{"algo-1", "one"}};
  const Result<CallResult> got = call_result_from(call_result_text(result));
  REQUIRE(got);
  CHECK(got->verdict == result.verdict);
  CHECK(got->data == result.data);
}

TEST_CASE("call: a plan becomes the call that carries it out, direct or by mpirun, by ssh or not") {
  HostPlan plan;
  plan.hosts = {"algo-1", "algo-2"};
  plan.rank.argv = {"python3", "train.py"};
  plan.kept_names = {"OMPI_MCA_x"};
  plan.launcher_command = Command{{"mpirun"}, {}, "/"};
  plan.launcher = Launcher::mpi;
  Call call = call_from(plan, "mpirun train.py", "digest");
  CHECK(call.kind == Call::Kind::mpi);
  CHECK(call.name == "mpirun train.py");
  CHECK(call.digest == "digest");
  CHECK(call.hosts == plan.hosts);
  CHECK(call.rank.command.argv == plan.rank.argv);
  CHECK(call.rank.kept == plan.kept_names);
  CHECK(call.launcher->argv == Args{"mpirun"});
  CHECK(!call.by_ssh);
  plan.transport = Transport::ssh;
  CHECK(call_from(plan, "", "").by_ssh);
  plan.launcher = Launcher::direct;
  plan.programs.push_back({"worker 1", 1, Command{{"python3"}, {}, "/"}, true});
  call = call_from(plan, "", "");
  CHECK(call.kind == Call::Kind::direct);
  CHECK(!call.by_ssh);
  CHECK(call.programs.size() == 1);
}

TEST_CASE("call: messages of a host or the leader about a call are read field by field") {
  for (const char* bad : {"", "1", "{}", R"({"name": "a"})", R"({"name": "a", "digest": 1})"}) {
    CAPTURE(bad);
    CHECK_FALSE(host_call_from(bad));
  }
  CHECK(host_call_from(R"({"name": "a", "digest": "d"})")->data.empty());
  CHECK(host_call_from(R"({"name": "a", "digest": "d", "data": 1})")->data.empty());
  for (const char* bad : {"", "[]", R"({"verdict": 1})"}) {
    CAPTURE(bad);
    CHECK_FALSE(call_result_from(bad));
  }
  Json result = *parse_json(call_result_text({}));
  result["data"] = 1;
  CHECK(call_result_from(to_text(result))->data.empty());
  result["data"] = {{"algo-1", 1}, {"algo-2", "two"}};
  CHECK(call_result_from(to_text(result))->data ==
        std::map<std::string, std::string>{{"algo-2", "two"}});
}
