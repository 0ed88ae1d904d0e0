#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "job/launch/launchers.h"
#include "job/launch/operators_testing.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

const Command train{{"train.py", "--lr", "1"}, {{"PATH", "/bin"}}, "/opt/ml/code"};

OperatorLine line(Env flags = {}, Args argv = train.argv) {
  return {std::move(flags), "python3", "/bin/sm", {std::move(argv), train.env, train.cwd}};
}

Result<HostPlan> planned(const OperatorLine& given, const Site& site) {
  const Result<Operation> operation = read_deepspeed(given);
  if (!operation) return operation.error();
  return operation->plan(site);
}

/// The text in --world_info of a node launcher's line, which is taken out of the words.
std::string world_taken(Args& words) {
  constexpr std::string_view flag = "--world_info=";
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!word->starts_with(flag)) continue;
    std::string text = word->substr(flag.size());
    words.erase(word);
    for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
    return from_base64(text).value_or("no base64");
  }
  return "none";
}

// --- the node launcher ---

TEST_CASE("deepspeed: a node launcher on each host, which gets all hosts and their slots") {
  // `sm rank` puts --local_rank where the node launcher would.
  const std::string sm = "--no_python --no_local_rank /bin/sm rank ";
  const std::string runs = sm + "--local-rank-at 3 -- python3 -u ";
  struct {
    const char* name;
    Site site;
    OperatorLine given;
    const char* world;
    std::string want;  ///< Behind the module, as a shell would read it.
  } const cases[] = {
      {"one host", hosts_of(1), line(), R"({"algo-1":[0]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"first of two", hosts_of(2), line(), R"({"algo-1":[0],"algo-2":[0]})",
       "--node_rank=0 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"second of two", hosts_of(2, 2), line(), R"({"algo-1":[0],"algo-2":[0]})",
       "--node_rank=1 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"processes as asked for", hosts_of(2, 2), line({{"--num_gpus", "3"}}),
       R"({"algo-1":[0,1,2],"algo-2":[0,1,2]})",
       "--node_rank=1 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"as many as GPUs", site_of({2, 2}, "algo-1"), line(), R"({"algo-1":[0,1],"algo-2":[0,1]})",
       "--node_rank=0 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"each host its own GPUs", site_of({1, 3}, "algo-2"), line(),
       R"({"algo-1":[0],"algo-2":[0,1,2]})",
       "--node_rank=1 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"GPUs on some hosts, a number given", site_of({8, 0}, "algo-2"), line({{"--num_gpus", "1"}}),
       R"({"algo-1":[0],"algo-2":[0]})",
       "--node_rank=1 --master_addr=algo-1 --master_port=1001 " + runs + "train.py --lr 1"},
      {"a port of one's own", hosts_of(2), line({{"--master_port", "29501"}}),
       R"({"algo-1":[0],"algo-2":[0]})",
       "--node_rank=0 --master_addr=algo-1 --master_port=29501 " + runs + "train.py --lr 1"},
      {"a module", hosts_of(1), line({{"--module", ""}}, {"pkg.train", "-x"}), R"({"algo-1":[0]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=1001 " + sm +
           "--local-rank-at 4 -- python3 -u -m pkg.train -x"},
      {"a program", hosts_of(1), line({{"--no_python", ""}, {"--no_local_rank", ""}}, {"./solve"}),
       R"({"algo-1":[0]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=1001 " + sm + "-- ./solve"},
      {"flags for the node launcher alone", hosts_of(1),
       line({{"--bind_cores_to_rank", ""},
             {"--bind_core_list", "1,3-5"},
             {"--enable_each_rank_log", "/opt/ml/output/data"}}),
       R"({"algo-1":[0]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=1001 --bind_cores_to_rank "
       "--bind_core_list=1,3-5 --enable_each_rank_log=/opt/ml/output/data " +
           runs + "train.py --lr 1"},
      {"arguments that are flags of ours", hosts_of(1),
       line({}, {"train.py", "--num_gpus", "9", "--hostfile=x", "a b", ""}), R"({"algo-1":[0]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=1001 " + runs +
           "train.py --num_gpus 9 "
           "--hostfile=x 'a b' ''"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = planned(c.given, c.site);
    REQUIRE(plan);
    CHECK(plan->launcher == Launcher::direct);
    REQUIRE(plan->programs.size() == 1);
    const HostProgram& agent = plan->programs[0];
    Args words = agent.command.argv;
    CHECK(world_taken(words) == c.world);
    CHECK(shell_quoted(words) == "python3 -u -m deepspeed.launcher.launch " + c.want);
    CHECK(agent.name == "deepspeed");
    CHECK(agent.rank == -1);
    CHECK(agent.decides);
    CHECK(agent.agent);
    CHECK(agent.command.cwd == train.cwd);
    CHECK(agent.command.env == train.env);
    CHECK(plan->roll_call == (c.site.hosts.size() > 1));
  }
}

TEST_CASE("deepspeed: hosts keep the job's order in the node launcher's text") {
  Site site;
  for (const char* name : {"algo-1", "algo-2", "algo-10", "a-last"})
    site.hosts.push_back({name, "", 0, {1001}});
  site.self = "algo-10";
  const Result<HostPlan> plan = planned(line(), site);
  REQUIRE(plan);
  Args words = plan->programs[0].command.argv;
  CHECK(world_taken(words) == R"({"algo-1":[0],"algo-2":[0],"algo-10":[0],"a-last":[0]})");
  CHECK(words[4] == "--node_rank=2");
}

TEST_CASE("deepspeed: the text is base64 with the alphabet for URLs") {
  Site site = hosts_of(1);
  // A third byte of ">" or "?" is "+" or "/" in the standard alphabet.
  site.hosts[0].name = site.self = ">?>?>?>?>?>?";
  const Result<HostPlan> plan = planned(line(), site);
  REQUIRE(plan);
  Args words = plan->programs[0].command.argv;
  CHECK(words[4].find_first_of("+/") == std::string::npos);
  CHECK(words[4].find_first_of("-_", 13) != std::string::npos);
  CHECK(world_taken(words) == R"({">?>?>?>?>?>?":[0]})");
}

TEST_CASE("deepspeed: the leading host offers a port, unless one is given") {
  const Args hosts = {"algo-1", "algo-2"};
  CHECK(read_deepspeed(line())->ports(hosts, "algo-1") == 1);
  CHECK(read_deepspeed(line())->ports(hosts, "algo-2") == 0);
  CHECK(read_deepspeed(line({{"--master_port", "2"}}))->ports(hosts, "algo-1") == 0);
}

// --- ranks without it ---

TEST_CASE("deepspeed direct: the ranks that the node launcher would start") {
  struct {
    const char* name;
    Site site;
    OperatorLine given;
    Args want;  ///< Each rank's line.
  } const cases[] = {
      {"a script",
       hosts_of(2, 2),
       line({{"--num_gpus", "2"}}),
       {"python3 -u train.py --local_rank=0 --lr 1", "python3 -u train.py --local_rank=1 --lr 1"}},
      {"a module",
       hosts_of(1),
       line({{"--module", ""}}, {"pkg.train"}),
       {"python3 -u -m pkg.train --local_rank=0"}},
      {"a program",
       hosts_of(1),
       line({{"--no_python", ""}}, {"./solve", "x"}),
       {"./solve --local_rank=0 x"}},
      {"without the argument",
       hosts_of(1),
       line({{"--no_local_rank", ""}}),
       {"python3 -u train.py --lr 1"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    OperatorLine given = c.given;
    given.flags["--launcher"] = "direct";
    CHECK(read_deepspeed(given)->direct);
    const Result<HostPlan> plan = planned(given, c.site);
    REQUIRE(plan);
    Args lines;
    for (const HostProgram& program : plan->programs)
      lines.push_back(shell_quoted(program.command.argv));
    CHECK(lines == c.want);
  }
}

TEST_CASE("deepspeed direct: a rank's identity is in its variables, whatever their values were") {
  OperatorLine given = line({{"--launcher", "direct"}});
  given.command.env["RANK"] = "77";
  given.command.env["MASTER_ADDR"] = "elsewhere";
  const Result<HostPlan> plan = planned(given, site_of({1, 3}, "algo-2"));
  REQUIRE(plan);
  CHECK(names_of(*plan) == Args{"rank 1", "rank 2", "rank 3"});
  CHECK(plan->ranks_here == 3);
  CHECK(plan->ranks_total == 4);
  const HostProgram& last = plan->programs[2];
  CHECK(last.rank == 3);
  CHECK(added_to(last, train) == Env{{"RANK", "3"},
                                     {"LOCAL_RANK", "2"},
                                     {"WORLD_SIZE", "4"},
                                     {"LOCAL_SIZE", "3"},
                                     {"CROSS_RANK", "1"},
                                     {"CROSS_SIZE", "2"},
                                     {"MASTER_ADDR", "algo-1"},
                                     {"MASTER_PORT", "1001"}});
}

// --- what is refused ---

TEST_CASE("deepspeed: an invalid line is refused with one line") {
  const Site two = hosts_of(2);
  Site portless = two;
  portless.hosts[0].ports.clear();
  struct {
    Site site;
    OperatorLine given;
    const char* want;
  } const cases[] = {
      {two, line({}, {"--hostfile", "h", "a.py"}),
       "--hostfile is not allowed: muster sets the hosts"},
      {two, line({}, {"-H", "h", "a.py"}), "-H is not allowed: muster sets the hosts"},
      {two, line({}, {"--num-nodes=2", "a.py"}),
       "--num_nodes is not allowed: muster sets the hosts"},
      {two, line({}, {"--include=algo-1:0", "a.py"}),
       "--include is not allowed: all hosts take part; --num_gpus sets the number of processes"},
      {two, line({}, {"--master_addr", "a", "a.py"}),
       "--master_addr is not allowed: muster sets it"},
      {two, line({}, {"--no_ssh", "a.py"}),
       "--no_ssh is not allowed: each host starts its own processes, without ssh"},
      {two, line({}, {"--elastic_training", "a.py"}),
       "--elastic_training is not allowed: the job's hosts are fixed; a lost host ends the job"},
      {two, line({}, {"--autotuning", "run", "a.py"}),
       "--autotuning is not allowed: the autotuner starts its own jobs"},
      {two, line({}, {"-m", "pkg"}), "-m is not allowed: use DeepSpeed's --module"},
      {two, line({}, {"--frobnicate=1", "a.py"}), "unknown flag \"--frobnicate\""},
      {two, line({{"--module", ""}, {"--no_python", ""}}),
       "--module and --no_python cannot be combined"},
      {two, line({{"--master_port", "65536"}}),
       "--master_port is 65536; expected a number from 1 to 65535"},
      {two, line({{"--launcher", "direct"}, {"--bind_cores_to_rank", ""}}),
       "--launcher direct does not use DeepSpeed; omit --bind_cores_to_rank"},
      {two, line({{"--num_gpus", "1025"}}), "--num_gpus is 1025; expected a number from 1 to 1024"},
      {site_of({4, 0}, "algo-1"), line(),
       "algo-2 has no GPU, but algo-1 has at least one; set --num_gpus"},
      {hosts_of(2, 3), line(), "this host, \"algo-3\", is not among the job's hosts"},
      {portless, line(), "host \"algo-1\" offered 0 free ports, but DeepSpeed requires 1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Result<HostPlan> plan = planned(c.given, c.site);
    REQUIRE(!plan);
    CHECK(plan.error().code == Errc::invalid_input);
    CHECK(plan.error().text == c.want);
  }
}

// --- by hyperparameter ---

Inputs job_of(const Args& hosts, const std::string& host, int processes) {
  Inputs inputs;
  inputs.entry_point = "train.py";
  inputs.args = {"--epochs", "2"};
  inputs.host = host;
  inputs.hosts = hosts;
  inputs.hosts_in_roll_call = static_cast<int>(hosts.size());
  inputs.runner = *runner_named("deepspeed");
  inputs.processes_per_host = processes;
  inputs.instance_type = "ml.c5.xlarge";
  return inputs;
}

TEST_CASE("deepspeed by hyperparameter: the hosts of the distribution, all alike") {
  struct {
    Args hosts;
    const char* host;
    const char* world;
    const char* want;
  } const cases[] = {
      {{"algo-1"},
       "algo-1",
       R"({"algo-1":[0,1]})",
       "--node_rank=0 --master_addr=127.0.0.1 --master_port=29500 "},
      {{"algo-2", "algo-3"},
       "algo-3",
       R"({"algo-2":[0,1],"algo-3":[0,1]})",
       "--node_rank=1 --master_addr=algo-2 --master_port=29500 "},
  };
  for (const auto& c : cases) {
    Options options;
    options.code_dir = "/opt/ml/code";
    options.sm = "/bin/sm";
    const Result<HostPlan> made = plan(job_of(c.hosts, c.host, 2), options);
    REQUIRE(made);
    CHECK(made->launcher == Launcher::direct);
    REQUIRE(made->programs.size() == 1);
    CHECK(made->ranks_total == 2 * static_cast<int>(c.hosts.size()));
    Args words = made->programs[0].command.argv;
    CHECK(world_taken(words) == c.world);
    CHECK(shell_quoted(words) == std::string("python3 -u -m deepspeed.launcher.launch ") + c.want +
                                     "--no_python --no_local_rank /bin/sm rank --local-rank-at 3 "
                                     "-- python3 -u train.py --epochs 2");
  }
}

TEST_CASE("deepspeed by hyperparameter: the user's NCCL variables stay unchanged") {
  struct {
    const char* instance;
    Env given;
    Env want;
  } const cases[] = {
      {"ml.c5.xlarge", {}, {{"NCCL_SOCKET_IFNAME", "eth0"}}},
      {"ml.c5.xlarge", {{"NCCL_SOCKET_IFNAME", "eth7"}}, {{"NCCL_SOCKET_IFNAME", "eth7"}}},
      {"ml.p4d.24xlarge",
       {{"RDMAV_FORK_SAFE", "0"}},
       {{"FI_EFA_USE_DEVICE_RDMA", "1"},
        {"FI_PROVIDER", "efa"},
        {"NCCL_SOCKET_IFNAME", "eth0"},
        {"RDMAV_FORK_SAFE", "0"}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.instance);
    Inputs inputs = job_of({"algo-1"}, "algo-1", 1);
    inputs.instance_type = c.instance;
    Options options;
    options.env = c.given;
    options.env["PATH"] = "/bin";
    const Result<HostPlan> made = plan_deepspeed(inputs, options);
    REQUIRE(made);
    Env env = made->rank.env;
    for (const char* name : {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED"}) env.erase(name);
    CHECK(env == c.want);
    options.on_platform = true;  // The platform has chosen the interface, or none.
    env = plan_deepspeed(inputs, options)->rank.env;
    CHECK(env.contains("NCCL_SOCKET_IFNAME") == c.given.contains("NCCL_SOCKET_IFNAME"));
  }
}

TEST_CASE("deepspeed by hyperparameter: only Python scripts, and MPI has priority") {
  Inputs inputs = job_of({"algo-1"}, "algo-1", 1);
  inputs.entry_point = "train.sh";
  CHECK(plan_deepspeed(inputs, {})
            .error()
            .text.find("is not a Python script (.py), but DeepSpeed starts only Python scripts") !=
        std::string::npos);
  struct {
    const char* hyperparameters;
    std::string_view want;
  } const cases[] = {
      {R"({"sagemaker_deepspeed_enabled": "1"})", "deepspeed"},
      {R"({"sagemaker_deepspeed_enabled": "true"})", "deepspeed"},
      {R"({"sagemaker_deepspeed_enabled": "false"})", "process"},
      {R"({"sagemaker_deepspeed_enabled": "true", "sagemaker_mpi_enabled": "true"})", "mpi"},
      {R"({})", "process"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.hyperparameters);
    job::ConfigFiles files;
    files.hyperparameters = c.hyperparameters;
    files.resource_config = R"({"current_host": "algo-1", "hosts": ["algo-1", "algo-2"],
                                "network_interface_name": "eth0"})";
    const Result<job::Training> training = job::training_from(files, {});
    REQUIRE(training);
    CHECK(inputs_from(*training, std::nullopt)->runner.name == c.want);
  }
}

}  // namespace
}  // namespace muster::launch
