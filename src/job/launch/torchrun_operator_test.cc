#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/operators_testing.h"

namespace muster::launch {
namespace {

TorchrunRequest script(Args agent_options = {}, std::optional<int> processes = {},
                       Args argv = {"train.py", "--lr", "1"}) {
  TorchrunRequest request;
  request.processes_per_host = processes;
  request.agent_options = std::move(agent_options);
  request.python = "/usr/bin/python3";
  request.sm = "/usr/bin/sm";
  request.command = {std::move(argv), {{"PATH", "/bin"}}, "/opt/ml/code"};
  return request;
}

TorchrunRequest direct(TorchrunRequest request) {
  request.direct = true;
  return request;
}

// --- the agent ---

TEST_CASE("torchrun operator: one agent on each host, which meet at the first") {
  const std::string runs = "--no_python /usr/bin/sm rank -- /usr/bin/python3 -u ";
  struct {
    const char* name;
    Site site;
    TorchrunRequest request;
    std::string want;  ///< Behind "python -m torch.distributed.run ", as a shell would read it.
  } const cases[] = {
      {"one host", hosts_of(1), script(),
       "--nnodes 1 --nproc_per_node 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"first of two", hosts_of(2), script(),
       "--nnodes 2 --nproc_per_node 1 --node_rank 0 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"second of two", hosts_of(2, 2), script(),
       "--nnodes 2 --nproc_per_node 1 --node_rank 1 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"processes as asked for", hosts_of(2, 2), script({}, 3),
       "--nnodes 2 --nproc_per_node 3 --node_rank 1 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"as many as GPUs", site_of({4, 4}, "algo-2"), script(),
       "--nnodes 2 --nproc_per_node 4 --node_rank 1 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"each host its own GPUs", site_of({4, 8}, "algo-2"), script(),
       "--nnodes 2 --nproc_per_node 8 --node_rank 1 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"more than GPUs", site_of({1, 1}, "algo-1"), script({}, 2),
       "--nnodes 2 --nproc_per_node 2 --node_rank 0 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"GPUs on some hosts, a number given", site_of({8, 0}, "algo-2"), script({}, 2),
       "--nnodes 2 --nproc_per_node 2 --node_rank 1 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"restarts", hosts_of(2), script({"--max-restarts", "2"}),
       "--nnodes 2 --nproc_per_node 1 --node_rank 0 --master_addr algo-1 --master_port 1001 "
       "--monitor_interval 0.1 --max-restarts 2 " +
           runs + "train.py --lr 1"},
      {"options of torchrun's", hosts_of(1),
       script({"--monitor_interval=1", "-m", "--rdzv-conf", "timeout=9", "--role", "trainer"}, {},
              {"pkg.train"}),
       "--nnodes 1 --nproc_per_node 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval=1 --rdzv-conf timeout=9 --role trainer " +
           runs + "-m pkg.train"},
      {"processes among torchrun's options", hosts_of(1),
       script({"--max-restarts=1", "--nproc_per_node", "5", "--tee", "3"}),
       "--nnodes 1 --nproc_per_node 5 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval 0.1 --max-restarts=1 --tee 3 " +
           runs + "train.py --lr 1"},
      {"the same with an equals sign", hosts_of(1), script({"--nproc-per-node=6"}, 2),
       "--nnodes 1 --nproc_per_node 6 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --lr 1"},
      {"arguments that are options of ours", hosts_of(1),
       script({}, {}, {"train.py", "--nnodes", "9", "--master-port=1"}),
       "--nnodes 1 --nproc_per_node 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py --nnodes 9 --master-port=1"},
      {"arguments with spaces, newlines, ':' and '='", hosts_of(1),
       script({}, {}, {"train.py", "a b", "c\nd", ":", "e=f", ""}),
       "--nnodes 1 --nproc_per_node 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 1001 "
       "--monitor_interval 0.1 " +
           runs + "train.py 'a b' 'c\nd' : e=f ''"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_torchrun(c.request, c.site);
    REQUIRE(plan);
    CHECK(plan->launcher == Launcher::direct);
    REQUIRE(plan->programs.size() == 1);
    const HostProgram& agent = plan->programs[0];
    CHECK(shell_quoted(agent.command.argv) ==
          "/usr/bin/python3 -m torch.distributed.run " + c.want);
    CHECK(agent.agent);
    CHECK(shell_quoted(agent.command.argv).ends_with(" rank -- " + shell_quoted(plan->rank.argv)));
    CHECK(agent.name == "torchrun");
    CHECK(agent.rank == -1);
    CHECK(agent.decides);
    CHECK(agent.command.cwd == "/opt/ml/code");
    CHECK(agent.command.env == c.request.command.env);
    CHECK(plan->roll_call == (c.site.hosts.size() > 1));
  }
}

TEST_CASE("torchrun operator: an outer launcher's variables do not reach the agent") {
  TorchrunRequest request = script();
  request.command.env = {{"PATH", "/bin"},
                         {"PET_NNODES", "7"},
                         {"PET_RDZV_BACKEND", "c10d"},
                         {"PET_RDZV_ENDPOINT", "a:1"},
                         {"PET_STANDALONE", "1"},
                         {"PET_MAX_RESTARTS", "3"},
                         {"PET_MONITOR_INTERVAL", "2"},
                         {"TORCHELASTIC_RUN_ID", "outer"},
                         {"TORCHELASTIC_ERROR_FILE", "/e"},
                         {"OMP_NUM_THREADS", "4"}};
  const Env kept = {{"PATH", "/bin"},
                    {"PET_MAX_RESTARTS", "3"},
                    {"PET_MONITOR_INTERVAL", "2"},
                    {"OMP_NUM_THREADS", "4"}};
  const Result<HostPlan> plan = plan_torchrun(request, hosts_of(2));
  REQUIRE(plan);
  const HostProgram& agent = plan->programs[0];
  CHECK(agent.command.env == kept);
  CHECK(shell_quoted(agent.command.argv).find("--monitor") == std::string::npos);
  CHECK(plan->rank.env == request.command.env);
  CHECK(plan->rank.argv == Args{"/usr/bin/python3", "-u", "train.py", "--lr", "1"});
}

TEST_CASE("torchrun operator: a rank runs the script as torchrun itself would") {
  const std::string path_runner =
      "'import sys; from torch.distributed.run import record, run_script_path; "
      "record(run_script_path)(*sys.argv[1:])'";
  struct {
    Args options;
    Env env;
    std::string want;
  } const cases[] = {
      {{}, {}, "/usr/bin/python3 -u train.py"},
      {{"-m"}, {}, "/usr/bin/python3 -u -m train.py"},
      {{"--module"}, {}, "/usr/bin/python3 -u -m train.py"},
      {{}, {{"PET_MODULE", "1"}}, "/usr/bin/python3 -u -m train.py"},
      {{}, {{"PET_MODULE", "0"}}, "/usr/bin/python3 -u train.py"},
      {{"--no-python"}, {}, "train.py"},
      {{"--no_python"}, {{"PYTHON_EXEC", "pypy"}}, "train.py"},
      {{}, {{"PET_NO_PYTHON", "1"}}, "train.py"},
      {{}, {{"PYTHON_EXEC", "pypy"}}, "pypy -u train.py"},
      {{"--run_path", "--no_python"}, {}, "/usr/bin/python3 -u -c " + path_runner + " train.py"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    TorchrunRequest request = script(c.options, {}, {"train.py"});
    request.command.env.insert(c.env.begin(), c.env.end());
    for (const bool is_direct : {false, true}) {
      request.direct = is_direct;
      const Result<HostPlan> plan = plan_torchrun(request, hosts_of(2));
      REQUIRE(plan);
      const Command& command = plan->programs[0].command;
      const std::string line = shell_quoted(command.argv);
      CHECK_MESSAGE((is_direct ? line == c.want : line.ends_with("/sm rank -- " + c.want)), line);
      CHECK((is_direct || !command.env.contains("PET_MODULE")));
    }
  }
}

TEST_CASE("torchrun operator: --standalone says of one host what it is") {
  const Result<HostPlan> plan = plan_torchrun(script({"--standalone"}), hosts_of(1));
  REQUIRE(plan);
  CHECK(plan->programs[0].command.argv ==
        plan_torchrun(script(), hosts_of(1))->programs[0].command.argv);
  CHECK(plan_torchrun(direct(script({"--standalone"})), hosts_of(1)));
}

TEST_CASE("torchrun operator: an invalid line is refused in one line") {
  const auto owned = [](const std::string& given, const std::string& option) {
    return given + " is not allowed: muster sets " + option;
  };
  const auto elastic = [](const std::string& given) {
    return given +
           " MIN:MAX is not supported: a lost host ends the job; to restart the job, use sm fit "
           "--spares and --retries";
  };
  Site no_port = hosts_of(2);
  no_port.hosts[0].ports.clear();
  Site twice = hosts_of(2);
  twice.hosts[1].name = "algo-1";
  struct {
    const char* name;
    Site site;
    TorchrunRequest request;
    std::string want;
  } const cases[] = {
      {"--nnodes", hosts_of(2), script({"--nnodes", "3"}), owned("--nnodes", "--nnodes")},
      {"elastic", hosts_of(2), script({"--nnodes", "1:2"}), elastic("--nnodes")},
      {"elastic=", hosts_of(2), script({"--nnodes=1:2"}), elastic("--nnodes")},
      {"--node-rank", hosts_of(2), script({"--node-rank", "0"}),
       owned("--node-rank", "--node-rank")},
      {"--node_rank=", hosts_of(2), script({"--node_rank=0"}), owned("--node_rank", "--node-rank")},
      {"--master_addr=", hosts_of(2), script({"--master_addr=x"}),
       owned("--master_addr", "--master-addr")},
      {"--master-port behind others", hosts_of(2),
       script({"--max-restarts", "1", "--master-port", "1"}),
       owned("--master-port", "--master-port")},
      {"cut short", hosts_of(2), script({"--master_p", "1"}), owned("--master_p", "--master-port")},
      {"cut very short", hosts_of(2), script({"--n=1"}), owned("--n", "--nnodes")},
      {"--rdzv-endpoint", hosts_of(2), script({"--rdzv-endpoint", "a:1"}),
       owned("--rdzv-endpoint", "--rdzv-endpoint")},
      {"--rdzv_id", hosts_of(2), script({"--rdzv_id", "a"}), owned("--rdzv_id", "--rdzv-id")},
      {"--rdzv-backend", hosts_of(2), script({"--rdzv-backend=c10d"}),
       owned("--rdzv-backend", "--rdzv-backend")},
      {"--local-addr", hosts_of(2), script({"--local-addr=a"}),
       owned("--local-addr", "--local-addr")},
      {"--standalone", hosts_of(2), script({"--standalone"}),
       "--standalone supports only one host, but this job has 2; omit this option so that the "
       "hosts train together"},
      {"zero processes", hosts_of(2), script({}, 0),
       "--nproc-per-node is 0; expected a number from 1 to 1024"},
      {"negative", hosts_of(2), script({}, -1),
       "--nproc-per-node is -1; expected a number from 1 to 1024"},
      {"too many", hosts_of(2), script({}, 1025),
       "--nproc-per-node is 1025; expected a number from 1 to 1024"},
      {"a word", hosts_of(2), script({"--nproc-per-node=auto"}),
       "--nproc-per-node is \"auto\"; expected a number from 1 to 1024"},
      {"nothing", hosts_of(2), script({"--nproc_per_node"}), "--nproc-per-node: expected a value"},
      {"some hosts with GPUs", site_of({8, 0, 8}, "algo-1"), script(),
       "algo-2 has no GPU, but algo-1 has at least one; set --nproc-per-node"},
      {"the same seen from the other", site_of({8, 0, 8}, "algo-2"), script(),
       "algo-2 has no GPU, but algo-1 has at least one; set --nproc-per-node"},
      {"no script", hosts_of(2), script({}, {}, {}), "expected a script to run"},
      {"no free port", no_port, script(),
       "host \"algo-1\" offered 0 free ports, but torchrun requires 1"},
      {"a host twice", twice, script(), "host \"algo-1\" appears twice among the job's hosts"},
      {"not among the hosts", hosts_of(2, 3), script(),
       "this host, \"algo-3\", is not among the job's hosts"},
      {"an agent's option without agent", hosts_of(2), direct(script({"--max-restarts", "2"})),
       "--launcher direct does not use torchrun and supports only -m, --no-python and --run-path; "
       "omit --max-restarts"},
      {"module and no Python", hosts_of(2), direct(script({"-m", "--no_python"})),
       "--module and --no-python cannot be combined"},
      {"owned, without agent", hosts_of(2), direct(script({"--nnodes=2"})),
       owned("--nnodes", "--nnodes")},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_torchrun(c.request, c.site);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == Errc::invalid_input);
    CHECK(plan.error().text == c.want);
  }
}

// --- without agent ---

TEST_CASE("torchrun operator: without agent each rank gets what torchrun gives it") {
  TorchrunRequest request = direct(script({}, 2));
  const Result<HostPlan> plan = plan_torchrun(request, hosts_of(3, 2));
  REQUIRE(plan);
  CHECK(names_of(*plan) == Args{"rank 2", "rank 3"});
  CHECK(plan->ranks_here == 2);
  CHECK(plan->ranks_total == 6);
  const HostProgram& last = plan->programs[1];
  CHECK(last.rank == 3);
  CHECK(last.decides);
  CHECK(last.command.argv == Args{"/usr/bin/python3", "-u", "train.py", "--lr", "1"});
  CHECK(added_to(last, request.command) == Env{{"GROUP_RANK", "1"},
                                               {"GROUP_WORLD_SIZE", "3"},
                                               {"LOCAL_RANK", "1"},
                                               {"LOCAL_WORLD_SIZE", "2"},
                                               {"MASTER_ADDR", "algo-1"},
                                               {"MASTER_PORT", "1001"},
                                               {"NCCL_ASYNC_ERROR_HANDLING", "1"},
                                               {"NODE_RANK", "1"},
                                               {"OMP_NUM_THREADS", "1"},
                                               {"RANK", "3"},
                                               {"ROLE_NAME", "default"},
                                               {"ROLE_RANK", "3"},
                                               {"ROLE_WORLD_SIZE", "6"},
                                               {"TORCHELASTIC_MAX_RESTARTS", "0"},
                                               {"TORCHELASTIC_RESTART_COUNT", "0"},
                                               {"TORCHELASTIC_RUN_ID", "none"},
                                               {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                               {"WORLD_SIZE", "6"}});
}

TEST_CASE("torchrun operator: without agent, ranks go host after host") {
  struct {
    const char* name;
    Site site;
    TorchrunRequest request;
    Args argv;
    int first_rank, ranks_here, ranks_total;
    const char* address;
  } const cases[] = {
      {"one process", hosts_of(1), script(), {"train.py"}, 0, 1, 1, "127.0.0.1"},
      {"one host", hosts_of(1), script({}, 3), {"train.py"}, 0, 3, 3, "127.0.0.1"},
      {"first host", hosts_of(2), script({}, 3), {"train.py"}, 0, 3, 6, "algo-1"},
      {"second host", hosts_of(2, 2), script({}, 3), {"train.py"}, 3, 3, 6, "algo-1"},
      {"GPUs", site_of({2, 2}, "algo-2"), script(), {"train.py"}, 2, 2, 4, "algo-1"},
      {"more GPUs before",
       site_of({8, 4, 2}, "algo-3"),
       script(),
       {"train.py"},
       12,
       2,
       14,
       "algo-1"},
      {"none has GPUs", hosts_of(3, 3), script(), {"train.py"}, 2, 1, 3, "algo-1"},
      {"module", hosts_of(2), script({"-m"}, 1), {"-m", "train.py"}, 0, 1, 2, "algo-1"},
      {"module, long", hosts_of(2), script({"--module"}, 1), {"-m", "train.py"}, 0, 1, 2, "algo-1"},
      {"arguments as they are",
       hosts_of(1),
       script({}, 1, {"t.py", "a b", "c\n:=", ""}),
       {"t.py", "a b", "c\n:=", ""},
       0,
       1,
       1,
       "127.0.0.1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    TorchrunRequest request = direct(c.request);
    Args want = {"/usr/bin/python3", "-u"};
    want.insert(want.end(), c.argv.begin(), c.argv.end());
    if (want.back() == "train.py") want.insert(want.end(), {"--lr", "1"});
    const Result<HostPlan> plan = plan_torchrun(request, c.site);
    REQUIRE(plan);
    REQUIRE(plan->programs.size() == static_cast<std::size_t>(c.ranks_here));
    CHECK(plan->ranks_total == c.ranks_total);
    for (int i = 0; i < c.ranks_here; ++i) {
      const HostProgram& program = plan->programs[static_cast<std::size_t>(i)];
      CHECK(program.rank == c.first_rank + i);
      CHECK(program.command.argv == want);
      CHECK(program.command.env.at("RANK") == std::to_string(c.first_rank + i));
      CHECK(program.command.env.at("LOCAL_RANK") == std::to_string(i));
      CHECK(program.command.env.at("MASTER_ADDR") == c.address);
      CHECK(program.command.env.contains("OMP_NUM_THREADS") == (c.ranks_here > 1));
    }
  }
}

TEST_CASE("torchrun operator: without agent, an own RANK gives way and own settings stand") {
  TorchrunRequest request = direct(script({"--no-python"}, 2, {"./train"}));
  request.command.env = {{"RANK", "9"},
                         {"MASTER_PORT", "1"},
                         {"OMP_NUM_THREADS", "8"},
                         {"NCCL_ASYNC_ERROR_HANDLING", "0"},
                         {"CUDA_VISIBLE_DEVICES", "1"},
                         {"TORCHELASTIC_ERROR_FILE", "/e"}};
  const Result<HostPlan> plan = plan_torchrun(request, hosts_of(2));
  REQUIRE(plan);
  const Command& command = plan->programs[1].command;
  CHECK(command.argv == Args{"./train"});
  CHECK(command.env.at("RANK") == "1");
  CHECK(command.env.at("MASTER_PORT") == "1001");
  CHECK(command.env.at("OMP_NUM_THREADS") == "8");
  CHECK(command.env.at("NCCL_ASYNC_ERROR_HANDLING") == "0");
  CHECK(command.env.at("CUDA_VISIBLE_DEVICES") == "1");
  CHECK_FALSE(command.env.contains("TORCHELASTIC_ERROR_FILE"));
}

}  // namespace
}  // namespace muster::launch
