#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "job/launch/operators_testing.h"

namespace muster::launch {
namespace {

struct Counts {
  int workers = 0;
  int parameter_servers = 0;
  bool chief = false;
  bool evaluator = false;
};

TensorflowRequest trainer(const Counts& counts, Args argv = {"t.py", "--lr", "1"}) {
  TensorflowRequest request;
  request.workers = counts.workers;
  request.parameter_servers = counts.parameter_servers;
  request.chief = counts.chief;
  request.evaluator = counts.evaluator;
  request.python = "python3";
  request.command = {std::move(argv), {{"PATH", "/bin"}}, "/opt/ml/code"};
  return request;
}

Json config_of(const HostProgram& program) {
  const Result<Json> json = parse_json(program.command.env.at("TF_CONFIG"));
  REQUIRE(json);
  return *json;
}

TEST_CASE("tensorflow: which process runs where") {
  struct {
    const char* name;
    int hosts;
    Counts counts;
    std::vector<const char*> want;  ///< Each host's; a program that does not decide in brackets.
  } const cases[] = {
      {"one host", 1, {1, 1}, {"worker 0, (ps 0)"}},
      {"one host, many", 1, {2, 1}, {"worker 0, worker 1, (ps 0)"}},
      {"one of each on two", 2, {1, 1}, {"worker 0", "(ps 0)"}},
      {"two of each on two", 2, {2, 2}, {"worker 0, (ps 1)", "worker 1, (ps 0)"}},
      {"two of each on four", 4, {2, 2}, {"worker 0", "worker 1", "(ps 1)", "(ps 0)"}},
      {"more workers than hosts", 2, {3, 1}, {"worker 0, worker 2", "worker 1, (ps 0)"}},
      {"more parameter servers than hosts", 2, {1, 3}, {"worker 0, (ps 1)", "(ps 0), (ps 2)"}},
      {"a host with nothing", 3, {1, 1}, {"worker 0", "", "(ps 0)"}},
      {"workers: one on each", 3, {0, 1}, {"worker 0", "worker 1", "worker 2, (ps 0)"}},
      {"a chief leads the workers", 2, {2, 1, true}, {"chief, (worker 1)", "(worker 0), (ps 0)"}},
      {"a chief on one host", 1, {1, 1, true}, {"chief, (worker 0), (ps 0)"}},
      {"a chief and one on each", 2, {0, 1, true}, {"chief, (worker 1)", "(worker 0), (ps 0)"}},
      {"an evaluator", 2, {2, 1, false, true}, {"worker 0", "worker 1, (ps 0), (evaluator)"}},
      {"all four", 2, {1, 1, true, true}, {"chief", "(worker 0), (ps 0), (evaluator)"}},
      {"multi-worker", 3, {}, {"worker 0", "worker 1", "worker 2"}},
      {"multi-worker on one host", 1, {}, {"worker 0"}},
      {"multi-worker, several on one host", 1, {3}, {"worker 0, worker 1, worker 2"}},
      {"multi-worker, fewer than hosts", 3, {2}, {"worker 0", "worker 1", ""}},
      {"multi-worker, more than hosts", 2, {3}, {"worker 0, worker 2", "worker 1"}},
      {"multi-worker with a chief", 2, {1, 0, true}, {"chief", "worker 0"}},
      {"multi-worker with an evaluator",
       2,
       {0, 0, false, true},
       {"worker 0", "worker 1, (evaluator)"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const TensorflowRequest request = trainer(c.counts);
    int total = 0;
    for (int host = 1; host <= c.hosts; ++host) {
      const Result<HostPlan> plan = plan_tensorflow(request, hosts_of(c.hosts, host));
      REQUIRE(plan);
      Args said;
      for (const HostProgram& program : plan->programs)
        said.push_back(program.decides ? program.name : "(" + program.name + ")");
      CHECK(join(said, ", ") == c.want[static_cast<std::size_t>(host - 1)]);
      CHECK(tensorflow_ports(request, plan->hosts, "algo-" + std::to_string(host)) ==
            plan->ranks_here);
      total += plan->ranks_here;
      CHECK(plan->roll_call == (c.hosts > 1));
    }
    CHECK(plan_tensorflow(request, hosts_of(c.hosts))->ranks_total == total);
  }
}

TEST_CASE("tensorflow: a task learns its part from its arguments and from TF_CONFIG") {
  const TensorflowRequest request = trainer({2, 2, true, true});
  const Result<HostPlan> plan = plan_tensorflow(request, hosts_of(2, 2));
  REQUIRE(plan);
  CHECK(names_of(*plan) == Args{"worker 0", "ps 0", "evaluator"});
  CHECK(plan->programs[0].rank == 1);
  CHECK(plan->programs[1].rank == 3);
  CHECK(plan->programs[2].rank == 5);
  const std::string lists =
      "--ps_hosts algo-2:2002,algo-1:1003 --worker_hosts algo-2:2001,"
      "algo-1:1002 --job_name ";
  CHECK(shell_quoted(plan->programs[0].command.argv) ==
        "python3 t.py --lr 1 " + lists + "worker --task_index 0");
  CHECK(shell_quoted(plan->programs[1].command.argv) ==
        "python3 t.py --lr 1 " + lists + "ps --task_index 0");
  CHECK(shell_quoted(plan->programs[2].command.argv) ==
        "python3 t.py --lr 1 " + lists + "evaluator --task_index 0");
  Json cluster = {{"chief", {"algo-1:1001"}},
                  {"worker", {"algo-2:2001", "algo-1:1002"}},
                  {"ps", {"algo-2:2002", "algo-1:1003"}}};
  CHECK(config_of(plan->programs[0]) == Json{{"cluster", cluster},
                                             {"task", {{"type", "worker"}, {"index", 0}}},
                                             {"environment", "cloud"}});
  CHECK(config_of(plan->programs[1])["task"] == Json{{"type", "ps"}, {"index", 0}});
  cluster["evaluator"] = {"algo-2:2003"};
  CHECK(config_of(plan->programs[2])["cluster"] == cluster);
  CHECK(config_of(plan->programs[2])["task"] == Json{{"type", "evaluator"}, {"index", 0}});
}

TEST_CASE("tensorflow: multi-worker appends nothing and lists workers only") {
  const Result<HostPlan> plan = plan_tensorflow(trainer({}), hosts_of(2, 2));
  REQUIRE(plan);
  REQUIRE(plan->programs.size() == 1);
  CHECK(plan->programs[0].command.argv == Args{"python3", "t.py", "--lr", "1"});
  CHECK(plan->programs[0].command.env.at("TF_CONFIG") ==
        R"({"cluster":{"worker":["algo-1:1001","algo-2:2001"]},"environment":"cloud",)"
        R"("task":{"index":1,"type":"worker"}})");
  CHECK(added_to(plan->programs[0], trainer({}).command).size() == 1);
}

TEST_CASE("tensorflow: alone, a host is called by its loopback address") {
  const Result<HostPlan> plan = plan_tensorflow(trainer({1, 1}), hosts_of(1));
  REQUIRE(plan);
  CHECK(shell_quoted(plan->programs[1].command.argv) ==
        "python3 t.py --lr 1 --ps_hosts 127.0.0.1:1002 --worker_hosts 127.0.0.1:1001 "
        "--job_name ps --task_index 0");
}

TEST_CASE("tensorflow: the trainer's words stay as they are") {
  struct {
    const char* name;
    Args argv;
    Args want;
  } const cases[] = {
      {"script", {"t.py"}, {"python3", "t.py"}},
      {"a command", {"./t", "a"}, {"./t", "a"}},
      {"an interpreter of its own", {"python", "t.py"}, {"python", "t.py"}},
      {"module", {"python", "-m", "t"}, {"python", "-m", "t"}},
      {"space and newline", {"t.py", "a b\n"}, {"python3", "t.py", "a b\n"}},
      {"colon, equals sign", {"t.py", ":", "-x", "A=b"}, {"python3", "t.py", ":", "-x", "A=b"}},
      {"a flag of ours that workers alone do not get",
       {"t.py", "--job_name", "a"},
       {"python3", "t.py", "--job_name", "a"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_tensorflow(trainer({}, c.argv), hosts_of(2));
    REQUIRE(plan);
    CHECK(plan->programs[0].command.argv == c.want);
    CHECK(plan->programs[0].command.cwd == "/opt/ml/code");
    CHECK(plan->rank.argv == c.argv);
  }
}

TEST_CASE("tensorflow: parameter servers see no GPU, the others share their host's") {
  struct {
    const char* name;
    std::vector<int> gpus;
    Counts counts;
    std::vector<const char*> want;  ///< CUDA_VISIBLE_DEVICES on algo-1; null: not set.
  } const cases[] = {
      {"no GPU", {0}, {2, 1}, {nullptr, nullptr, ""}},
      {"one worker sees all", {4, 4}, {2, 0}, {nullptr}},
      {"two workers", {4}, {2, 1}, {"0,1", "2,3", ""}},
      {"chief and worker", {2}, {1, 1, true}, {"0", "1", ""}},
      {"the evaluator too", {3}, {1, 1, true, true}, {"0", "1", "", "2"}},
      {"more workers than GPUs", {2}, {3, 0}, {"0", "1", "0"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_tensorflow(trainer(c.counts), [&] {
      Site site = site_of(c.gpus, "algo-1");
      for (Site::Host& host : site.hosts) host.ports.push_back(9000);
      return site;
    }());
    REQUIRE(plan);
    REQUIRE(plan->programs.size() == c.want.size());
    for (std::size_t i = 0; i < c.want.size(); ++i) {
      const Env& env = plan->programs[i].command.env;
      CHECK(env.contains("CUDA_VISIBLE_DEVICES") == (c.want[i] != nullptr));
      if (c.want[i] != nullptr) CHECK(env.at("CUDA_VISIBLE_DEVICES") == c.want[i]);
      CHECK(env.contains("TF_FORCE_GPU_ALLOW_GROWTH") == (c.counts.workers > 2));
    }
  }
}

TEST_CASE("tensorflow: an own TF_CONFIG gives way, own GPUs stand but for parameter servers") {
  TensorflowRequest request = trainer({2, 1});
  request.command.env = {
      {"TF_CONFIG", "{}"}, {"CUDA_VISIBLE_DEVICES", "3"}, {"TF_FORCE_GPU_ALLOW_GROWTH", "false"}};
  const Result<HostPlan> plan = plan_tensorflow(request, site_of({1}, "algo-1"));
  REQUIRE(plan);
  CHECK(config_of(plan->programs[0])["task"]["type"] == "worker");
  CHECK(plan->programs[0].command.env.at("CUDA_VISIBLE_DEVICES") == "3");
  CHECK(plan->programs[0].command.env.at("TF_FORCE_GPU_ALLOW_GROWTH") == "false");
  CHECK(plan->programs[2].command.env.at("CUDA_VISIBLE_DEVICES").empty());
}

TEST_CASE("tensorflow: an invalid request is refused in one line") {
  const auto owned = [](const std::string& flag) {
    return "the trainer's argument " + flag + " is not allowed: muster sets it for each task";
  };
  Site twice = hosts_of(2);
  twice.hosts[1].name = "algo-1";
  Site few = hosts_of(2);
  few.hosts[1].ports.resize(1);
  struct {
    const char* name;
    Site site;
    TensorflowRequest request;
    std::string want;
  } const cases[] = {
      {"negative workers", hosts_of(2), trainer({-1, 1}),
       "--num-workers is -1; expected a number from 1 to 2048"},
      {"too many workers", hosts_of(1), trainer({1025, 1}),
       "--num-workers is 1025; expected a number from 1 to 1024"},
      {"too many workers of two hosts", hosts_of(2), trainer({4000, 1}),
       "--num-workers is 4000; expected a number from 1 to 2048"},
      {"negative parameter servers", hosts_of(2), trainer({1, -2}),
       "--num-parameter-servers is -2; expected a number from 1 to 2048"},
      {"too many parameter servers", hosts_of(1), trainer({1, 9999}),
       "--num-parameter-servers is 9999; expected a number from 1 to 1024"},
      {"no trainer", hosts_of(2), trainer({}, {}), "expected a trainer to run"},
      {"an empty trainer", hosts_of(2), trainer({}, {""}), "expected a trainer to run"},
      {"--ps_hosts", hosts_of(2), trainer({1, 1}, {"t.py", "--ps_hosts", "a"}),
       owned("--ps_hosts")},
      {"--worker_hosts=", hosts_of(2), trainer({1, 1}, {"t.py", "--worker_hosts=a"}),
       owned("--worker_hosts")},
      {"--job_name", hosts_of(2), trainer({1, 1}, {"t.py", "--job_name=a"}), owned("--job_name")},
      {"--task_index", hosts_of(2), trainer({1, 1}, {"t.py", "--task_index", "0"}),
       owned("--task_index")},
      {"fewer ports than tasks", few, trainer({2, 2}),
       "host \"algo-2\" offered 1 free ports, but TensorFlow requires 2"},
      {"no ports", few, trainer({9, 1}),
       "host \"algo-2\" offered 1 free ports, but TensorFlow requires 2"},
      {"a host twice", twice, trainer({1, 1}),
       "host \"algo-1\" appears twice among the job's hosts"},
      {"not among the hosts", hosts_of(2, 4), trainer({1, 1}),
       "this host, \"algo-4\", is not among the job's hosts"},
      {"no hosts", {}, trainer({1, 1}), "this host, \"\", is not among the job's hosts"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_tensorflow(c.request, c.site);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == Errc::invalid_input);
    CHECK(plan.error().text == c.want);
  }
}

TEST_CASE("tensorflow: a request that cannot be needs no ports, nor does a stranger") {
  CHECK(tensorflow_ports(trainer({-1, 1}), {"algo-1"}, "algo-1") == 0);
  CHECK(tensorflow_ports(trainer({1, 99999}), {"algo-1"}, "algo-1") == 0);
  CHECK(tensorflow_ports(trainer({1, 1}), {}, "algo-1") == 0);
  CHECK(tensorflow_ports(trainer({1, 1}), {"algo-1"}, "algo-2") == 0);
}

TEST_CASE("tensorflow: with TF_CONFIG alone, servers serve and the others run the trainer") {
  TensorflowRequest request = trainer({1, 2, true}, {"t.py", "--job_name", "mine"});
  request.config_only = true;
  const Result<HostPlan> plan = plan_tensorflow(request, site_of({0, 0}, "algo-2"));
  REQUIRE(plan);
  REQUIRE(plan->programs.size() == 2);
  const HostProgram& worker = plan->programs[0];
  const HostProgram& server = plan->programs[1];
  CHECK(worker.name == "worker 0");
  CHECK(worker.decides);
  CHECK(worker.command.argv == Args{"python3", "t.py", "--job_name", "mine"});
  CHECK(server.name == "ps 0");
  CHECK_FALSE(server.decides);
  REQUIRE(server.command.argv.size() == 3);
  CHECK(server.command.argv[1] == "-c");
  CHECK(server.command.argv[2].find("Server(") != std::string::npos);
  CHECK(config_of(server)["task"] == Json{{"type", "ps"}, {"index", 0}});
}

}  // namespace
}  // namespace muster::launch
