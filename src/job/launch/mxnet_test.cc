#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/operators_testing.h"

namespace muster::launch {
namespace {

MxnetRequest program(int servers = 0, int workers = 0, Args argv = {"t.py", "--kv", "dist_sync"}) {
  MxnetRequest request;
  request.servers = servers;
  request.workers = workers;
  request.command = {std::move(argv), {{"PATH", "/bin"}}, "/opt/ml/code"};
  return request;
}

TEST_CASE("mxnet: which process runs where") {
  struct {
    const char* name;
    int hosts, servers, workers;
    std::vector<const char*> want;  ///< Each host's; a program that does not decide in brackets.
  } const cases[] = {
      {"one host", 1, 0, 0, {"(scheduler), (server 0), worker 0"}},
      {"two hosts", 2, 0, 0, {"(scheduler), (server 0), worker 0", "(server 1), worker 1"}},
      {"three hosts",
       3,
       0,
       0,
       {"(scheduler), (server 0), worker 0", "(server 1), worker 1", "(server 2), worker 2"}},
      {"one server", 2, 1, 0, {"(scheduler), (server 0), worker 0", "worker 1"}},
      {"one worker", 2, 0, 1, {"(scheduler), (server 0), worker 0", "(server 1)"}},
      {"more servers than hosts",
       2,
       3,
       2,
       {"(scheduler), (server 0), (server 2), worker 0", "(server 1), worker 1"}},
      {"more workers than hosts",
       2,
       1,
       3,
       {"(scheduler), (server 0), worker 0, worker 2", "worker 1"}},
      {"one of each on three", 3, 1, 1, {"(scheduler), (server 0), worker 0", "", ""}},
      {"many on one", 1, 2, 2, {"(scheduler), (server 0), (server 1), worker 0, worker 1"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    int total = 0;
    for (int host = 1; host <= c.hosts; ++host) {
      const Result<HostPlan> plan =
          plan_mxnet(program(c.servers, c.workers), hosts_of(c.hosts, host));
      REQUIRE(plan);
      Args said;
      for (const HostProgram& each : plan->programs)
        said.push_back(each.decides ? each.name : "(" + each.name + ")");
      CHECK(join(said, ", ") == c.want[static_cast<std::size_t>(host - 1)]);
      CHECK(plan->launcher == Launcher::direct);
      CHECK(plan->roll_call == (c.hosts > 1));
      total += plan->ranks_here;
    }
    CHECK(plan_mxnet(program(c.servers, c.workers), hosts_of(c.hosts))->ranks_total == total);
  }
}

TEST_CASE("mxnet: each program gets its part in DMLC_*") {
  const MxnetRequest request = program(1, 3);
  Env common = {{"DMLC_NUM_SERVER", "1"},
                {"DMLC_NUM_WORKER", "3"},
                {"DMLC_PS_ROOT_PORT", "1001"},
                {"DMLC_PS_ROOT_URI", "algo-1"},
                {"DMLC_USE_KUBERNETES", "1"}};
  const Result<HostPlan> plan = plan_mxnet(request, hosts_of(2));
  REQUIRE(plan);
  REQUIRE(names_of(*plan) == Args{"scheduler", "server 0", "worker 0", "worker 2"});
  const char* const roles[] = {"scheduler", "server", "worker", "worker"};
  const int ranks[] = {4, 3, 0, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    const HostProgram& each = plan->programs[i];
    common["DMLC_ROLE"] = roles[i];
    CHECK(added_to(each, request.command) == common);
    CHECK(each.rank == ranks[i]);
    const bool worker = i > 1;
    CHECK(each.command.argv == (worker ? Args{"python3", "t.py", "--kv", "dist_sync"}
                                       : Args{"python3", "-c", "import mxnet"}));
    CHECK(each.command.cwd == "/opt/ml/code");
  }
}

TEST_CASE("mxnet: by what the programs find each other") {
  struct {
    const char* name;
    int hosts;
    Args addresses;
    Env env;
    const char* root;
    const char* node;       ///< DMLC_NODE_HOST; null: none.
    bool listens_anywhere;  ///< DMLC_USE_KUBERNETES
  } const cases[] = {
      {"alone", 1, {}, {}, "127.0.0.1", "127.0.0.1", false},
      {"alone with an address", 1, {"10.0.0.1"}, {}, "127.0.0.1", "127.0.0.1", false},
      {"names only", 2, {}, {}, "algo-1", nullptr, true},
      {"addresses", 2, {"10.0.0.1", "10.0.0.2"}, {}, "10.0.0.1", "10.0.0.2", false},
      {"the leader's address only", 2, {"10.0.0.1", ""}, {}, "10.0.0.1", nullptr, false},
      {"this host's address only", 2, {"", "10.0.0.2"}, {}, "algo-1", "10.0.0.2", true},
      {"an interface of the user's",
       2,
       {"10.0.0.1", "10.0.0.2"},
       {{"DMLC_INTERFACE", "ib0"}},
       "10.0.0.1",
       nullptr,
       false},
      {"an address of the user's",
       2,
       {"10.0.0.1", "10.0.0.2"},
       {{"DMLC_NODE_HOST", "1.2.3.4"}},
       "10.0.0.1",
       "1.2.3.4",
       false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Site site = hosts_of(c.hosts, c.hosts);
    for (std::size_t i = 0; i < c.addresses.size(); ++i) site.hosts[i].address = c.addresses[i];
    MxnetRequest request = program();
    request.command.env = c.env;
    const Result<HostPlan> plan = plan_mxnet(request, site);
    REQUIRE(plan);
    const Env& env = plan->programs.back().command.env;
    CHECK(env.at("DMLC_PS_ROOT_URI") == c.root);
    CHECK(env.contains("DMLC_NODE_HOST") == (c.node != nullptr));
    if (c.node != nullptr) CHECK(env.at("DMLC_NODE_HOST") == c.node);
    CHECK(env.contains("DMLC_USE_KUBERNETES") == c.listens_anywhere);
  }
}

TEST_CASE("mxnet: the program's words stay as they are, servers run its interpreter") {
  struct {
    const char* name;
    Args argv;
    Args worker;
    const char* server;
  } const cases[] = {
      {"script", {"t.py"}, {"python3", "t.py"}, "python3"},
      {"interpreter", {"python", "t.py"}, {"python", "t.py"}, "python"},
      {"interpreter by path",
       {"/v/bin/python3.9", "t.py"},
       {"/v/bin/python3.9", "t.py"},
       "/v/bin/python3.9"},
      {"no interpreter", {"./run.sh"}, {"./run.sh"}, "python3"},
      {"a script with an interpreter's name", {"python.py"}, {"python3", "python.py"}, "python3"},
      {"space, newline, colon, equals sign",
       {"t.py", "a b", "c\n", ":", "d=e", ""},
       {"python3", "t.py", "a b", "c\n", ":", "d=e", ""},
       "python3"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_mxnet(program(1, 1, c.argv), hosts_of(1));
    REQUIRE(plan);
    CHECK(plan->programs[2].command.argv == c.worker);
    CHECK(plan->programs[1].command.argv == Args{c.server, "-c", "import mxnet"});
    CHECK(plan->rank.argv == c.argv);
  }
}

TEST_CASE("mxnet: workers of a host share its GPUs, and an outer launcher's variables give way") {
  MxnetRequest request = program(1, 2);
  request.command.env = {{"DMLC_ROLE", "server"},    {"DMLC_RANK", "3"},
                         {"DMLC_LOCAL", "1"},        {"DMLC_PS_ROOT_URI", "x"},
                         {"DMLC_PS_ROOT_PORT", "1"}, {"DMLC_WORKER_ID", "2"},
                         {"DMLC_NUM_WORKER", "9"},   {"PS_VERBOSE", "1"}};
  const Result<HostPlan> plan = plan_mxnet(request, site_of({4}, "algo-1"));
  REQUIRE(plan);
  REQUIRE(plan->programs.size() == 4);
  CHECK_FALSE(plan->programs[1].command.env.contains("CUDA_VISIBLE_DEVICES"));
  CHECK(plan->programs[2].command.env.at("CUDA_VISIBLE_DEVICES") == "0,1");
  CHECK(plan->programs[3].command.env == Env{{"CUDA_VISIBLE_DEVICES", "2,3"},
                                             {"DMLC_NODE_HOST", "127.0.0.1"},
                                             {"DMLC_NUM_SERVER", "1"},
                                             {"DMLC_NUM_WORKER", "2"},
                                             {"DMLC_PS_ROOT_PORT", "1001"},
                                             {"DMLC_PS_ROOT_URI", "127.0.0.1"},
                                             {"DMLC_ROLE", "worker"},
                                             {"PS_VERBOSE", "1"}});
}

TEST_CASE("mxnet: an invalid request is refused in one line") {
  Site twice = hosts_of(2);
  twice.hosts[1].name = "algo-1";
  Site no_port = hosts_of(2);
  no_port.hosts[0].ports.clear();
  struct {
    const char* name;
    Site site;
    MxnetRequest request;
    const char* want;
  } const cases[] = {
      {"negative servers", hosts_of(2), program(-1, 1),
       "--num-servers is -1; expected a number from 1 to 2048"},
      {"negative workers", hosts_of(1), program(1, -5),
       "--num-workers is -5; expected a number from 1 to 1024"},
      {"too many servers", hosts_of(1), program(1025, 1),
       "--num-servers is 1025; expected a number from 1 to 1024"},
      {"too many workers", hosts_of(2), program(1, 2049),
       "--num-workers is 2049; expected a number from 1 to 2048"},
      {"no program", hosts_of(2), program(0, 0, {}), "expected a program to run"},
      {"an empty program", hosts_of(2), program(0, 0, {""}), "expected a program to run"},
      {"no port", no_port, program(),
       "host \"algo-1\" offered 0 free ports, but the scheduler requires 1"},
      {"a host twice", twice, program(), "host \"algo-1\" appears twice among the job's hosts"},
      {"not among the hosts", hosts_of(2, 3), program(),
       "this host, \"algo-3\", is not among the job's hosts"},
      {"no hosts", {}, program(), "this host, \"\", is not among the job's hosts"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_mxnet(c.request, c.site);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == Errc::invalid_input);
    CHECK(plan.error().text == c.want);
  }
}

}  // namespace
}  // namespace muster::launch
