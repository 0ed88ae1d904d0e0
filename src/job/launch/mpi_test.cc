#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

Inputs three_by_two() {
  Inputs inputs;
  inputs.entry_point = "mpi_demo.py";
  inputs.args = {"--epochs", "2"};
  inputs.variables = {{"SM_CURRENT_HOST", "algo-1"}};
  inputs.host = "algo-1";
  inputs.hosts = {"algo-1", "algo-2", "algo-3"};
  inputs.hosts_in_roll_call = 3;
  inputs.runner = Runner::mpi;
  inputs.processes_per_host = 2;
  return inputs;
}

Options on_machine() {
  Options options;
  options.sm = "/usr/local/bin/sm";
  options.agent = "/usr/local/bin/muster-agent";
  options.code_dir = "/opt/ml/code";
  options.env = {{"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", "/lib/x"}};
  return options;
}

Args mpirun_of(const Inputs& inputs, const Options& options) {
  const Result<HostPlan> got = plan(inputs, options);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  REQUIRE(got->launcher_command);
  return got->launcher_command->argv;
}

/// mpirun's line for custom options, all else as in the main job.
std::string line_with(const std::string& custom) {
  Inputs inputs = three_by_two();
  inputs.custom_options = custom;
  return join(mpirun_of(inputs, on_machine()), " ") + " ";
}

bool has(const std::string& line, const std::string& words) {
  return line.find(" " + words + " ") != std::string::npos;
}

TEST_CASE("mpi: the main job's line is the reference's, and ends in sm rank") {
  const Args want = {"mpirun",
                     "--host",
                     "algo-1:2,algo-2:2,algo-3:2",
                     "-np",
                     "6",
                     "--allow-run-as-root",
                     "-mca",
                     "plm",
                     "rsh",
                     "-mca",
                     "plm_rsh_agent",
                     "/usr/local/bin/muster-agent",
                     "-mca",
                     "plm_rsh_no_tree_spawn",
                     "1",
                     "-mca",
                     "orte_leave_session_attached",
                     "1",
                     "-mca",
                     "btl_tcp_if_include",
                     "eth0",
                     "-mca",
                     "oob_tcp_if_include",
                     "eth0",
                     "-bind-to",
                     "none",
                     "-map-by",
                     "slot",
                     "-mca",
                     "pml",
                     "ob1",
                     "-mca",
                     "btl",
                     "^openib,ofi",
                     "-mca",
                     "orte_abort_on_non_zero_status",
                     "1",
                     "-mca",
                     "btl_vader_single_copy_mechanism",
                     "none",
                     "-x",
                     "NCCL_DEBUG=INFO",
                     "-x",
                     "NCCL_MIN_NRINGS=4",
                     "-x",
                     "NCCL_SOCKET_IFNAME=eth0",
                     "-x",
                     "PATH",
                     "-x",
                     "LD_LIBRARY_PATH",
                     "/usr/local/bin/sm",
                     "rank"};
  CHECK(mpirun_of(three_by_two(), on_machine()) == want);
}

TEST_CASE("mpi: only the leader has a launcher, every host has its own ranks") {
  Inputs inputs = three_by_two();
  inputs.host = "algo-2";
  inputs.variables = {{"SM_CURRENT_HOST", "algo-2"}};
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(got->launcher == Launcher::mpi);
  CHECK(!got->launcher_command);
  CHECK(got->roll_call);
  CHECK(got->ranks_here == 2);
  CHECK(got->ranks_total == 6);
  CHECK(got->rank.argv == Args{"python3", "-m", "mpi4py", "mpi_demo.py", "--epochs", "2"});
  CHECK(got->rank.cwd == "/opt/ml/code");
  CHECK(got->rank.env.at("SM_CURRENT_HOST") == "algo-2");
  CHECK(got->rank.env.at("NCCL_DEBUG") == "INFO");
  CHECK(got->rank.env.at("PYTHONUNBUFFERED") == "1");
}

TEST_CASE("mpi: the user's arguments never stand on mpirun's line and reach ranks byte for byte") {
  Inputs inputs = three_by_two();
  inputs.args = {"--a",   ":",     "--b", "-x A=1", "--c", "$(id) `id` ; \n\t",
                 "--A=b", "é\xff", "",    "--",     "'\""};
  Args want = {"python3", "-m", "mpi4py", "mpi_demo.py"};
  want.insert(want.end(), inputs.args.begin(), inputs.args.end());
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(got->rank.argv == want);
  CHECK(got->launcher_command->argv == mpirun_of(three_by_two(), on_machine()));
}

TEST_CASE("mpi: custom options win over ours, which then leave the line") {
  struct {
    const char* custom;
    const char* there;
    const char* gone;
  } const cases[] = {
      {"-mca btl self,tcp", "-mca btl self,tcp", "-mca btl ^openib,ofi"},
      {"--mca pml ucx", "--mca pml ucx", "-mca pml ob1"},
      {"-gmca pml cm", "-gmca pml cm", "-mca pml ob1"},
      {"-mca btl_tcp_if_include ib0", "-mca btl_tcp_if_include ib0",
       "-mca btl_tcp_if_include eth0"},
      {"-mca btl_tcp_if_exclude lo", "-mca btl_tcp_if_exclude lo", "-mca btl_tcp_if_include eth0"},
      {"-mca oob_tcp_if_exclude lo", "-mca oob_tcp_if_exclude lo", "-mca oob_tcp_if_include eth0"},
      {"-mca orte_abort_on_non_zero_status 0", "-mca orte_abort_on_non_zero_status 0",
       "-mca orte_abort_on_non_zero_status 1"},
      {"-mca btl_vader_single_copy_mechanism cma", "-mca btl_vader_single_copy_mechanism cma",
       "-mca btl_vader_single_copy_mechanism none"},
      {"-bind-to core", "-bind-to core", "-bind-to none"},
      {"--bind-to-socket", "--bind-to-socket", "-bind-to none"},
      {"--map-by node", "--map-by node", "-map-by slot"},
      {"-npernode 2", "-npernode 2", "-map-by slot"},
      {"--NCCL_DEBUG=WARN", "-x NCCL_DEBUG=WARN", "-x NCCL_DEBUG=INFO"},
      {"--NCCL_DEBUG TRACE", "-x NCCL_DEBUG=TRACE", "-x NCCL_DEBUG=INFO"},
      {"-x NCCL_DEBUG=WARN", "-x NCCL_DEBUG=WARN", "-x NCCL_DEBUG=INFO"},
      {"-x NCCL_SOCKET_IFNAME=ib0", "-x NCCL_SOCKET_IFNAME=ib0", "-x NCCL_SOCKET_IFNAME=eth0"},
      {"-x PATH=/x", "-x PATH=/x", "-x PATH"},
      {"-x LD_LIBRARY_PATH=/x", "-x LD_LIBRARY_PATH=/x", "-x LD_LIBRARY_PATH"},
      {"-verbose", "--display-map -verbose", "--tag-output"},
      {"-tag-output", "-tag-output", "--display-map"},
      {"-x FOO=bar -report-bindings", "-x FOO=bar -report-bindings /usr/local/bin/sm rank",
       "--display-map"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.custom);
    const std::string line = line_with(c.custom);
    CAPTURE(line);
    CHECK(has(line, c.there));
    CHECK(!has(line, c.gone));
    CHECK(line.ends_with(" /usr/local/bin/sm rank "));
  }
}

TEST_CASE("mpi: how many ranks a host has follows mpirun's mapping") {
  struct {
    int processes;
    const char* custom;
    int want[3];
  } const cases[] = {
      {6, "", {2, 2, 2}},
      {5, "", {2, 2, 1}},
      {3, "", {2, 1, 0}},
      {1, "", {1, 0, 0}},
      {4, "-map-by node", {2, 1, 1}},
      {3, "-N 1", {1, 1, 1}},
      {4, "-map-by slot:PE=1", {2, 2, 0}},
      {4, "-rf file", {4, 4, 4}},
      {9, "-oversubscribe", {9, 9, 9}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.processes);
    CAPTURE(c.custom);
    for (std::size_t i = 0; i < 3; ++i) {
      Inputs inputs = three_by_two();
      inputs.processes = c.processes;
      inputs.custom_options = c.custom;
      inputs.host = inputs.hosts[i];
      const Result<HostPlan> got = plan(inputs, on_machine());
      REQUIRE(got);
      CHECK(got->ranks_here == c.want[i]);
      CHECK(got->ranks_total == c.processes);
    }
  }
}

TEST_CASE("mpi: instance types with EFA get its settings and keep the ofi transport") {
  struct {
    const char* type;
    bool efa;
    bool rdma;
  } const cases[] = {{"ml.p4d.24xlarge", true, true},
                     {"ml.p3dn.24xlarge", true, false},
                     {"ml.c5.xlarge", false, false},
                     {"", false, false}};
  for (const auto& c : cases) {
    CAPTURE(c.type);
    Inputs inputs = three_by_two();
    inputs.instance_type = c.type;
    const std::string line = join(mpirun_of(inputs, on_machine()), " ");
    CHECK(has(line, "-x FI_PROVIDER=efa") == c.efa);
    CHECK(has(line, "-x NCCL_PROTO=simple") == c.efa);
    CHECK(has(line, "-x FI_EFA_USE_DEVICE_RDMA=1") == c.rdma);
    CHECK(has(line, "-mca btl ^openib") == c.efa);
    CHECK(plan(inputs, on_machine())->rank.env.contains("FI_PROVIDER") == c.efa);
  }
}

TEST_CASE("mpi: a value of the job's own environment stays, and LD_LIBRARY_PATH may be missing") {
  Options options = on_machine();
  options.env = {{"PATH", "/bin"}, {"NCCL_DEBUG", "WARN"}};
  const std::string line = join(mpirun_of(three_by_two(), options), " ");
  CHECK(has(line, "-x NCCL_DEBUG=WARN"));
  CHECK(has(line, "-x PATH"));
  CHECK(!has(line, "-x LD_LIBRARY_PATH"));
}

TEST_CASE("mpi: one host needs neither a network nor a roll call") {
  Inputs inputs = three_by_two();
  inputs.hosts = {"algo-1"};
  inputs.hosts_in_roll_call = 1;
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(!got->roll_call);
  const std::string line = join(got->launcher_command->argv, " ");
  CHECK(has(line, "--host algo-1:2 -np 2"));
  CHECK(has(line, "-mca oob_tcp_if_include lo"));
  CHECK(has(line, "-mca btl_tcp_if_include lo"));
  CHECK(has(line, "-x NCCL_SOCKET_IFNAME=eth0"));
}

TEST_CASE("mpi: each host has variables with its own interface, unless the user chose one") {
  const auto env_with = [](const std::string& custom, const Env& own) {
    Inputs inputs = three_by_two();
    inputs.host = "algo-2";
    inputs.interface = "ens5";
    inputs.custom_options = custom;
    Options options = on_machine();
    options.env.insert(own.begin(), own.end());
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(got);
    return got->rank.env;
  };
  const std::string btl = "OMPI_MCA_btl_tcp_if_include";
  const std::string oob = "OMPI_MCA_oob_tcp_if_include";
  CHECK(env_with("", {}).at(btl) == "ens5");
  CHECK(env_with("", {}).at(oob) == "ens5");
  CHECK(env_with("", {{btl, "ib0"}}).at(btl) == "ib0");
  CHECK(!env_with("", {{"OMPI_MCA_btl_tcp_if_exclude", "lo"}}).contains(btl));
  for (const char* custom : {"-mca btl_tcp_if_include ib0", "-mca btl_tcp_if_exclude lo",
                             "-x OMPI_MCA_btl_tcp_if_include=ib0"}) {
    CAPTURE(custom);
    CHECK(!env_with(custom, {}).contains(btl));
    CHECK(!env_with(custom, {{btl, "eth9"}}).contains(btl));
    CHECK(env_with(custom, {}).at(oob) == "ens5");
  }
}

TEST_CASE("mpi: muster's platform chooses NCCL's interface, if any") {
  Options options = on_machine();
  options.on_platform = true;
  CHECK(join(mpirun_of(three_by_two(), options), " ").find("NCCL_SOCKET_IFNAME") ==
        std::string::npos);
  options.env["NCCL_SOCKET_IFNAME"] = "=eth0";
  CHECK(has(join(mpirun_of(three_by_two(), options), " "), "-x NCCL_SOCKET_IFNAME==eth0"));
  CHECK(plan(three_by_two(), options)->rank.env.at("NCCL_SOCKET_IFNAME") == "=eth0");
}

TEST_CASE("mpi: a host outside of the distribution runs the script alone") {
  Inputs inputs = three_by_two();
  inputs.host = "algo-4";
  inputs.hosts_in_roll_call = 4;
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(got->launcher == Launcher::process);
  CHECK(got->rank.argv == Args{"python3", "mpi_demo.py", "--epochs", "2"});
  CHECK(got->roll_call);
}

TEST_CASE("mpi: ports are set only when they are asked for") {
  Options options = on_machine();
  options.daemon_ports = PortRange{20000, 20099};
  options.message_ports = PortRange{20100, 20199};
  const std::string line = join(mpirun_of(three_by_two(), options), " ");
  CHECK(has(line, "-mca oob_tcp_dynamic_ipv4_ports 20000-20099"));
  CHECK(has(line, "-mca btl_tcp_port_min_v4 20100"));
  CHECK(has(line, "-mca btl_tcp_port_range_v4 100"));
  CHECK(!has(line_with(""), "-mca btl_tcp_port_min_v4"));
}

TEST_CASE("mpi: a rank keeps what mpirun gives it for the names of -x") {
  Inputs inputs = three_by_two();
  inputs.host = "algo-2";
  inputs.variables = {{"SM_CURRENT_HOST", "algo-2"}};
  inputs.custom_options = "-x FOO=bar -x BAR -x SM_CURRENT_HOST -x SM_OWN=1 -x NONE";
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(got->kept_names == Args{"BAR", "FOO", "NONE", "SM_OWN"});
}

TEST_CASE("mpi: with --prefix a rank keeps the paths that mpirun made") {
  Inputs inputs = three_by_two();
  inputs.custom_options = "--prefix /opt/ompi -x PATH";
  const Result<HostPlan> got = plan(inputs, on_machine());
  REQUIRE(got);
  CHECK(got->kept_names == Args{"PATH", "LD_LIBRARY_PATH"});
}

TEST_CASE("mpi: mpirun sees nothing of another launcher, ranks see all that the job has") {
  Options options = on_machine();
  options.env = {{"SLURM_JOBID", "7"},
                 {"PMIX_RANK", "0"},
                 {"OMPI_MCA_plm_rsh_agent", "ssh"},
                 {"OMPI_MCA_mca_base_env_list", "A"},
                 {"OMPI_MCA_btl_tcp_links", "2"},
                 {"OMPI_COMM_WORLD_RANK", "3"},
                 {"HOME", "/root"}};
  const Result<HostPlan> got = plan(three_by_two(), options);
  REQUIRE(got);
  const Env& env = got->launcher_command->env;
  for (const char* name : {"SLURM_JOBID", "PMIX_RANK", "OMPI_MCA_plm_rsh_agent",
                           "OMPI_MCA_mca_base_env_list", "OMPI_COMM_WORLD_RANK"})
    CHECK_MESSAGE(!env.contains(name), name);
  CHECK(env.at("OMPI_MCA_btl_tcp_links") == "2");
  CHECK(env.at("HOME") == "/root");
  CHECK(got->rank.env.at("SLURM_JOBID") == "7");
  CHECK(got->launcher_command->cwd == "/opt/ml/code");
}

TEST_CASE("mpi: daemons look for no devices, unless ranks choose by them or the job says so") {
  struct {
    const char* name;
    Env env;
    const char* instance_type;
    std::optional<std::string> want;
  } const cases[] = {
      {"plain", {}, "ml.c5.large", "-pci,-linuxio,-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero"},
      {"a fabric of the instance type", {}, "ml.p4d.24xlarge", std::nullopt},
      {"one that the job names", {{"FI_PROVIDER", "verbs"}}, "local", std::nullopt},
      {"of hwloc", {{"HWLOC_XMLFILE", "/x"}}, "local", std::nullopt},
      {"its own choice", {{"HWLOC_COMPONENTS", "x86"}}, "local", "x86"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Options options = on_machine();
    options.env = c.env;
    Inputs inputs = three_by_two();
    inputs.instance_type = c.instance_type;
    const Result<HostPlan> leader = plan(inputs, options);
    inputs.host = "algo-2";
    const Result<HostPlan> member = plan(inputs, options);
    REQUIRE(leader);
    REQUIRE(member);
    const Env daemon = launcher_environment(member->rank.env);
    for (const Env* env : {&leader->launcher_command->env, &daemon}) {
      CHECK(env->contains("HWLOC_COMPONENTS") == c.want.has_value());
      if (c.want) CHECK(env->at("HWLOC_COMPONENTS") == *c.want);
      CHECK(env->contains("HWLOC_PLUGINS_PATH") == (c.name == std::string("plain")));
    }
    for (const HostPlan* one : {&*leader, &*member})
      CHECK(!one->rank.env.contains("HWLOC_PLUGINS_PATH"));
  }
}

TEST_CASE("mpi: an impossible job is refused in one clear line") {
  struct {
    const char* name;
    void (*change)(Inputs&, Options&);
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"no slots", [](Inputs& i, Options&) { i.processes_per_host = 0; },
       "sagemaker_mpi_num_of_processes_per_host is 0; expected a number from 1 to 1024"},
      {"negative", [](Inputs& i, Options&) { i.processes_per_host = -1; }, "is -1"},
      {"far too many", [](Inputs& i, Options&) { i.processes_per_host = 2000000000; }, "expected"},
      {"no ranks", [](Inputs& i, Options&) { i.processes = 0; },
       "sagemaker_mpi_num_processes is 0"},
      {"more ranks than slots", [](Inputs& i, Options&) { i.processes = 7; },
       "is 7, but 3 hosts with 2 processes each can run at most 6"},
      {"a host that splits the list", [](Inputs& i, Options&) { i.hosts[1] = "a,b"; },
       "host \"a,b\""},
      {"a host that is an option", [](Inputs& i, Options&) { i.hosts[1] = "-x"; }, "host \"-x\""},
      {"an interface with a space", [](Inputs& i, Options&) { i.interface = "eth0 -x"; },
       "interface \"eth0 -x\""},
      {"not a valid interface", [](Inputs& i, Options&) { i.interface = ""; }, "interface"},
      {"an agent with a space", [](Inputs&, Options& o) { o.agent = "/a b"; }, "\"/a b\""},
      {"no agent", [](Inputs&, Options& o) { o.agent = ""; }, "agent"},
      {"a low port",
       [](Inputs&, Options& o) {
         o.daemon_ports = PortRange{80, 90};
       },
       "port range"},
      {"ports backwards",
       [](Inputs&, Options& o) {
         o.message_ports = PortRange{3000, 2000};
       },
       "port range"},
      {"a custom option", [](Inputs& i, Options&) { i.custom_options = "-np 7"; }, "\"-np\""},
      {"no entry point", [](Inputs& i, Options&) { i.entry_point = ""; }, "sagemaker_program"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Inputs inputs = three_by_two();
    Options options = on_machine();
    c.change(inputs, options);
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

TEST_CASE("mpi: beyond 128 hosts all daemons are started at once") {
  Inputs inputs = three_by_two();
  for (int i = 4; i <= 128; ++i) inputs.hosts.push_back("algo-" + std::to_string(i));
  const std::string words = "-mca plm_rsh_num_concurrent";
  CHECK(!has(join(mpirun_of(inputs, on_machine()), " ") + " ", words + " 128"));
  inputs.hosts.push_back("algo-129");
  CHECK(has(join(mpirun_of(inputs, on_machine()), " ") + " ", words + " 129"));
}

}  // namespace
}  // namespace muster::launch
