#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/plan_inputs.h"
#include "job/launch/plan_testing.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

Inputs job_of(const Args& hosts, const std::string& host) {
  Inputs inputs;
  inputs.entry_point = "train.py";
  inputs.args = {"--epochs", "2"};
  inputs.variables = {{"SM_CURRENT_HOST", host}};
  inputs.host = host;
  inputs.hosts = hosts;
  inputs.hosts_in_roll_call = static_cast<int>(hosts.size());
  inputs.runner = Runner::torch_distributed;
  inputs.processes_per_host = 4;
  inputs.instance_type = "ml.c5.xlarge";
  return inputs;
}

Options in_code(const Env& env = {}) {
  Options options;
  options.agent = "/usr/local/bin/muster-agent";
  options.sm = "/usr/local/bin/sm";
  options.code_dir = "/opt/ml/code";
  options.env = env;
  return options;
}

/// What a plan's program gets beyond what every program gets.
Env added(Env env) {
  for (const char* name : {"SM_CURRENT_HOST", "PYTHONPATH", "PYTHONUNBUFFERED"}) env.erase(name);
  return env;
}

const Command& agent_of(const HostPlan& plan) {
  REQUIRE(plan.programs.size() == 1);
  CHECK(plan.programs[0].agent);
  return plan.programs[0].command;
}

/// Behind torchrun's own options.
const Args ranks = {"--no_python", "/usr/local/bin/sm", "rank",     "--", "python3",
                    "-u",          "train.py",          "--epochs", "2"};

// The options and variables are those of sagemaker-training 5.1.4's TorchDistributedRunner.
TEST_CASE("torchrun: the options and the variables are the reference's") {
  const Env plain = {{"NCCL_PROTO", "simple"}, {"NCCL_SOCKET_IFNAME", "eth0"}};
  const Env efa = {
      {"FI_PROVIDER", "efa"}, {"NCCL_PROTO", "simple"}, {"NCCL_SOCKET_IFNAME", "eth0"}};
  const Env rdma = {{"FI_EFA_USE_DEVICE_RDMA", "1"},
                    {"FI_PROVIDER", "efa"},
                    {"NCCL_PROTO", "simple"},
                    {"NCCL_SOCKET_IFNAME", "eth0"},
                    {"RDMAV_FORK_SAFE", "1"}};
  struct {
    const char* name;
    Args hosts;
    const char* host;
    const char* instance;
    Args line;  ///< torchrun's options but the last.
    Env env;
  } const cases[] = {
      {"one host",
       {"algo-1"},
       "algo-1",
       "ml.c5.xlarge",
       {"--nnodes", "1", "--nproc_per_node", "4"},
       plain},
      {"first of two",
       {"algo-1", "algo-2"},
       "algo-1",
       "ml.p4d.24xlarge",
       {"--nnodes", "2", "--nproc_per_node", "4", "--master_addr", "algo-1", "--master_port",
        "7777", "--node_rank", "0"},
       rdma},
      {"second of two",
       {"algo-1", "algo-2"},
       "algo-2",
       "ml.p3dn.24xlarge",
       {"--nnodes", "2", "--nproc_per_node", "4", "--master_addr", "algo-1", "--master_port",
        "7777", "--node_rank", "1"},
       efa},
      {"a group of the job's hosts, in its order",
       {"algo-4", "algo-3", "algo-12"},
       "algo-12",
       "local",
       {"--nnodes", "3", "--nproc_per_node", "4", "--master_addr", "algo-4", "--master_port",
        "7777", "--node_rank", "2"},
       plain},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Inputs inputs = job_of(c.hosts, c.host);
    inputs.instance_type = c.instance;
    const Result<HostPlan> got = plan(inputs, in_code());
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    Args want = {"python3", "-m", "torch.distributed.run"};
    want.insert(want.end(), c.line.begin(), c.line.end());
    want.insert(want.end(), ranks.begin(), ranks.end());
    const Command& agent = agent_of(*got);
    CHECK(agent.argv == want);
    CHECK(added(agent.env) == c.env);
    CHECK(agent.env.at("SM_CURRENT_HOST") == c.host);
    CHECK(agent.cwd == "/opt/ml/code");
    CHECK(got->rank.argv == Args(ranks.begin() + 4, ranks.end()));
    CHECK(got->launcher == Launcher::direct);
    CHECK(!got->launcher_command);
    CHECK(got->roll_call == (c.hosts.size() > 1));
    CHECK(got->ranks_here == 4);
    CHECK(got->ranks_total == 4 * static_cast<int>(c.hosts.size()));
  }
}

TEST_CASE("torchrun: graphs are compiled first if RUN_NEURON_PARALLEL_COMPILE says 1") {
  const struct {
    const char* value;
    bool compiles;
  } cases[] = {{"1", true}, {"0", false}, {"true", false}, {"", false}};
  for (const auto& c : cases) {
    CAPTURE(c.value);
    const Env env = {{"RUN_NEURON_PARALLEL_COMPILE", c.value}};
    const Result<HostPlan> got = plan(job_of({"algo-1"}, "algo-1"), in_code(env));
    REQUIRE(got);
    const Args& argv = agent_of(*got).argv;
    const Args begin(argv.begin(), argv.begin() + 3);
    CHECK(begin == (c.compiles ? Args{"neuron_parallel_compile", "torchrun", "--nnodes"}
                               : Args{"python3", "-m", "torch.distributed.run"}));
  }
}

TEST_CASE("torchrun: its variables stand over the job's own, and arguments stay as they are") {
  Inputs inputs = job_of({"algo-1"}, "algo-1");
  inputs.interface = "ens5";
  inputs.args = {"--a", "b c;$(id)", "--", "é"};
  const Result<HostPlan> got = plan(
      inputs, in_code({{"NCCL_PROTO", "LL"}, {"NCCL_SOCKET_IFNAME", "x"}, {"NCCL_DEBUG", "W"}}));
  REQUIRE(got);
  CHECK(agent_of(*got).argv == Args{"python3", "-m", "torch.distributed.run", "--nnodes", "1",
                                    "--nproc_per_node", "4", "--no_python", "/usr/local/bin/sm",
                                    "rank", "--", "python3", "-u", "train.py", "--a", "b c;$(id)",
                                    "--", "é"});
  CHECK(added(agent_of(*got).env) ==
        Env{{"NCCL_DEBUG", "W"}, {"NCCL_PROTO", "simple"}, {"NCCL_SOCKET_IFNAME", "ens5"}});
}

TEST_CASE("torchrun: on muster's platform the job's own variables stay") {
  struct {
    const char* type;
    Env given;
    Env want;
  } const cases[] = {
      {"ml.g5.xlarge", {{"NCCL_SOCKET_IFNAME", "=eth0"}}, {{"NCCL_SOCKET_IFNAME", "=eth0"}}},
      {"ml.g5.xlarge", {}, {}},
      {"ml.g5.48xlarge", {}, {{"FI_PROVIDER", "efa"}, {"NCCL_PROTO", "simple"}}},
      {"ml.g5.48xlarge",
       {{"NCCL_PROTO", "LL128"}},
       {{"FI_PROVIDER", "efa"}, {"NCCL_PROTO", "LL128"}}},
      {"ml.p5.48xlarge",
       {{"FI_PROVIDER", "tcp"}},
       {{"FI_EFA_USE_DEVICE_RDMA", "1"},
        {"FI_PROVIDER", "tcp"},
        {"NCCL_PROTO", "simple"},
        {"RDMAV_FORK_SAFE", "1"}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.type);
    Inputs inputs = job_of({"algo-1"}, "algo-1");
    inputs.instance_type = c.type;
    Options options = in_code(c.given);
    options.on_platform = true;
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(got);
    CHECK(added(agent_of(*got).env) == c.want);
  }
}

TEST_CASE("torchrun: the plan as text shows the line of the host that has it") {
  const Result<HostPlan> got = plan(job_of({"algo-1", "algo-2"}, "algo-2"), in_code());
  REQUIRE(got);
  const std::string text = plan_text(*got);
  CAPTURE(text);
  CHECK(
      text.starts_with("launcher: direct, 4 of 8 programs on this host, each next to its GPU, "
                       "after the roll call of "
                       "all hosts\n"));
  CHECK(text.find("torchrun runs: " + shell_quoted(agent_of(*got).argv) + "\n") !=
        std::string::npos);
}

TEST_CASE("torchrun: an impossible job is refused in one clear line") {
  struct {
    const char* name;
    void (*change)(Inputs&, Options&);
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"package", [](Inputs&, Options& o) { o.has_setup_py = true; },
       "sagemaker_program \"train.py\" is a Python package (setup.py is in /opt/ml/code), but "
       "torchrun starts only Python scripts"},
      {"shell script", [](Inputs& i, Options&) { i.entry_point = "run.sh"; },
       "sagemaker_program \"run.sh\" is not a Python script (.py)"},
      {"shell script beside setup.py",
       [](Inputs& i, Options& o) {
         i.entry_point = "run.sh";
         o.has_setup_py = true;
       },
       "sagemaker_program \"run.sh\" is not a Python script (.py)"},
      {"program", [](Inputs& i, Options&) { i.entry_point = "train"; }, "is not a Python script"},
      {"none", [](Inputs& i, Options&) { i.entry_point = ""; }, "sagemaker_program"},
      {"outside", [](Inputs& i, Options&) { i.entry_point = "../t.py"; }, "sagemaker_program"},
      {"missing", [](Inputs&, Options& o) { o.entry_exists = false; },
       "sagemaker_program \"train.py\" is not in /opt/ml/code"},
      {"no processes", [](Inputs& i, Options&) { i.processes_per_host = 0; },
       "sagemaker_mpi_num_of_processes_per_host is 0; expected a number of 1 or more"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Inputs inputs = job_of({"algo-1", "algo-2"}, "algo-2");
    Options options = in_code();
    c.change(inputs, options);
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

job::Training training_of(const std::string& hyperparameters, const std::string& resources,
                          int gpus = 0) {
  job::ConfigFiles files;
  files.hyperparameters = hyperparameters;
  files.resource_config = resources;
  job::Facts facts;
  facts.num_gpus = gpus;
  const Result<job::Training> training = job::training_from(files, facts);
  REQUIRE_MESSAGE(training, (training ? "" : training.error().text));
  return *training;
}

TEST_CASE("torchrun: a job asks for it by sagemaker_torch_distributed_enabled") {
  const std::string two = R"({"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]})";
  const std::string groups =
      R"({"current_host": "algo-2", "current_group_name": "two", "hosts": ["algo-1", "algo-2"],
          "instance_groups": [
            {"instance_group_name": "one", "instance_type": "local", "hosts": ["algo-1"]},
            {"instance_group_name": "two", "instance_type": "local", "hosts": ["algo-2"]}]})";
  struct {
    const char* name;
    const char* parameters;
    const std::string& resources;
    int gpus;
    Args want;  ///< How the line begins.
  } const cases[] = {
      {"enabled",
       R"("sagemaker_torch_distributed_enabled": "true")",
       two,
       0,
       {"python3", "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "1"}},
      {"one process per GPU",
       R"("sagemaker_torch_distributed_enabled": "true")",
       two,
       8,
       {"python3", "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "8"}},
      {"as many as are said",
       R"("sagemaker_torch_distributed_enabled": "true",
          "sagemaker_mpi_num_of_processes_per_host": "3")",
       two,
       8,
       {"python3", "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "3"}},
      {"MPI wins",
       R"("sagemaker_torch_distributed_enabled": "true", "sagemaker_mpi_enabled": "true")",
       two,
       0,
       {"python3", "-m", "mpi4py"}},
      {"disabled", R"("sagemaker_torch_distributed_enabled": "false")", two, 0, {"python3"}},
      {"in its group",
       R"("sagemaker_torch_distributed_enabled": "true",
          "sagemaker_distribution_instance_groups": "[\"two\"]")",
       groups,
       0,
       {"python3", "-m", "torch.distributed.run", "--nnodes", "1"}},
      {"not in its group",
       R"("sagemaker_torch_distributed_enabled": "true",
          "sagemaker_distribution_instance_groups": "[\"one\"]")",
       groups,
       0,
       {"python3", "train.py"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::string text = std::string(R"({"sagemaker_program": "train.py", )") + c.parameters;
    const Result<HostPlan> got = plan(training_of(text + "}", c.resources, c.gpus), in_code());
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    const Args& argv = got->programs.empty() ? got->rank.argv : got->programs[0].command.argv;
    REQUIRE(argv.size() >= c.want.size());
    const Args begin(argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(c.want.size()));
    CHECK(begin == c.want);
    CHECK(got->roll_call);
  }
}

}  // namespace
}  // namespace muster::launch
