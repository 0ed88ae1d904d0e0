#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/plan_inputs.h"
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
  inputs.runner = Runner::smdataparallel;
  inputs.processes_per_host = 8;
  inputs.instance_type = "ml.p4d.24xlarge";
  inputs.smddprun = true;
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

std::string line_of(const Inputs& inputs, const Options& options) {
  const Result<HostPlan> got = plan(inputs, options);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  REQUIRE(got->launcher_command);
  return join(got->launcher_command->argv, " ") + " ";
}

bool has(const std::string& line, const std::string& words) {
  return line.find(" " + words + " ") != std::string::npos;
}

// The wanted lines are those of sagemaker-training 5.1.4's SMDataParallelRunner, with the
// differences that smdataparallel.cc names.
TEST_CASE("smdataparallel: mpirun's line is the reference's, and ends in sm rank") {
  CHECK(line_of(job_of({"algo-1", "algo-2"}, "algo-1"), on_machine()) ==
        "mpirun --host algo-1:8,algo-2:8 -np 16 --allow-run-as-root "
        "-mca plm rsh -mca plm_rsh_agent /usr/local/bin/muster-agent "
        "-mca plm_rsh_no_tree_spawn 1 -mca orte_leave_session_attached 1 "
        "-mca btl_tcp_if_include eth0 -mca oob_tcp_if_include eth0 -mca pml ob1 "
        "-mca btl ^openib -mca orte_abort_on_non_zero_status 1 "
        "-mca btl_vader_single_copy_mechanism none "
        "-x FI_EFA_USE_DEVICE_RDMA=1 -x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x NCCL_PROTO=simple "
        "-x NCCL_SOCKET_IFNAME=eth0 -x RDMAV_FORK_SAFE=1 "
        "-x SAGEMAKER_INSTANCE_TYPE=ml.p4d.24xlarge -x SMDATAPARALLEL_SERVER_ADDR=algo-1 "
        "-x SMDATAPARALLEL_SERVER_PORT=7592 -x SMDATAPARALLEL_USE_HOMOGENEOUS=1 "
        "-x PATH -x LD_LIBRARY_PATH --oversubscribe -mca plm_rsh_num_concurrent 2 "
        "/usr/local/bin/sm rank ");
  Inputs alone = job_of({"algo-1"}, "algo-1");
  alone.instance_type = "ml.c5.xlarge";
  CHECK(line_of(alone, on_machine()) ==
        "mpirun --host algo-1:8 -np 8 --allow-run-as-root "
        "-mca plm rsh -mca plm_rsh_agent /usr/local/bin/muster-agent "
        "-mca plm_rsh_no_tree_spawn 1 -mca orte_leave_session_attached 1 "
        "-mca btl_tcp_if_include lo -mca oob_tcp_if_include lo -mca pml ob1 "
        "-mca btl ^openib,ofi -mca orte_abort_on_non_zero_status 1 "
        "-mca btl_vader_single_copy_mechanism none "
        "-x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x NCCL_SOCKET_IFNAME=eth0 -x RDMAV_FORK_SAFE=1 "
        "-x SMDATAPARALLEL_USE_SINGLENODE=1 "
        "-x PATH -x LD_LIBRARY_PATH --oversubscribe -mca plm_rsh_num_concurrent 1 "
        "/usr/local/bin/sm rank ");
}

TEST_CASE("smdataparallel: under Open MPI 5 its options have that one's names") {
  Options options = on_machine();
  options.mpi.major = 5;
  const std::string line = line_of(job_of({"algo-1", "algo-2"}, "algo-1"), options);
  CAPTURE(line);
  CHECK(has(line, "--prtemca plm_ssh_num_concurrent 2 /usr/local/bin/sm rank"));
  CHECK(!has(line, "--oversubscribe"));
  CHECK(!has(line, "slot"));
}

TEST_CASE("smdataparallel: every host's ranks run smddprun with the script, and its variables") {
  const Env common = {{"FI_PROVIDER", "efa"},    {"LD_LIBRARY_PATH", "/lib/x"},
                      {"NCCL_DEBUG", "INFO"},    {"NCCL_SOCKET_IFNAME", "eth0"},
                      {"PATH", "/usr/bin:/bin"}, {"PYTHONPATH", "/opt/ml/code"},
                      {"PYTHONUNBUFFERED", "1"}, {"RDMAV_FORK_SAFE", "1"}};
  struct {
    const char* instance;
    bool alone;
    Env env;
  } const cases[] = {
      {"ml.p4d.24xlarge", false, {{"FI_EFA_USE_DEVICE_RDMA", "1"}, {"NCCL_PROTO", "simple"}}},
      {"ml.p3dn.24xlarge", false, {{"NCCL_PROTO", "simple"}}},
      {"ml.p3.16xlarge", false, {}},
      {"ml.p4d.24xlarge", true, {{"FI_EFA_USE_DEVICE_RDMA", "1"}, {"NCCL_PROTO", "simple"}}},
      {"ml.p3.16xlarge", true, {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.instance);
    CAPTURE(c.alone);
    const std::string host = c.alone ? "algo-1" : "algo-2";
    Inputs inputs = job_of(c.alone ? Args{"algo-1"} : Args{"algo-1", "algo-2"}, host);
    inputs.instance_type = c.instance;
    const Result<HostPlan> got = plan(inputs, on_machine());
    REQUIRE(got);
    CHECK(got->launcher == Launcher::mpi);
    CHECK(got->launcher_command.has_value() == c.alone);
    CHECK(got->ranks_here == 8);
    CHECK(got->ranks_total == (c.alone ? 8 : 16));
    CHECK(got->roll_call == !c.alone);
    CHECK(got->rank.argv ==
          Args{"smddprun", "python3", "-m", "mpi4py", "train.py", "--epochs", "2"});
    Env want = common;
    want.insert(c.env.begin(), c.env.end());
    want["SM_CURRENT_HOST"] = host;
    for (const char* each : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"})
      want[each] = c.alone ? "lo" : "eth0";
    if (c.alone) {
      want["SMDATAPARALLEL_USE_SINGLENODE"] = "1";
    } else {
      want["SMDATAPARALLEL_USE_HOMOGENEOUS"] = "1";
      want["SMDATAPARALLEL_SERVER_ADDR"] = "algo-1";
      want["SMDATAPARALLEL_SERVER_PORT"] = "7592";
      want["SAGEMAKER_INSTANCE_TYPE"] = c.instance;
    }
    CHECK(got->rank.env == want);
  }
}

TEST_CASE("smdataparallel: without smddprun ranks run the script itself") {
  Inputs inputs = job_of({"algo-1"}, "algo-1");
  inputs.smddprun = false;
  CHECK(plan(inputs, on_machine())->rank.argv ==
        Args{"python3", "-m", "mpi4py", "train.py", "--epochs", "2"});
  inputs.smddprun = true;
  inputs.entry_point = "run.sh";
  CHECK(plan(inputs, on_machine())->rank.argv == Args{"smddprun", "./run.sh", "--epochs", "2"});
}

TEST_CASE("smdataparallel: custom options win over ours, the job's environment does not") {
  struct {
    const char* custom;
    const char* there;
    const char* gone;
  } const cases[] = {
      {"--NCCL_DEBUG WARN", "-x NCCL_DEBUG=WARN", "-x NCCL_DEBUG=INFO"},
      {"--NCCL_DEBUG=WARN", "-x NCCL_DEBUG=WARN", "-x NCCL_DEBUG=INFO"},
      {"-x FI_PROVIDER=tcp", "-x FI_PROVIDER=tcp", "-x FI_PROVIDER=efa"},
      {"-x PATH=/x", "-x PATH=/x", "-x PATH"},
      {"-mca btl self,tcp", "-mca btl self,tcp", "-mca btl ^openib"},
      {"-mca oob_tcp_if_exclude lo", "-mca oob_tcp_if_exclude lo", "-mca oob_tcp_if_include eth0"},
      {"-oversubscribe", "-oversubscribe", "--oversubscribe"},
      {"-verbose", "-verbose /usr/local/bin/sm rank", "--display-map"},
      {"", "-x NCCL_DEBUG=INFO", "-x NCCL_DEBUG=TRACE"},
  };
  Options options = on_machine();
  options.env["NCCL_DEBUG"] = "TRACE";
  options.daemon_ports = PortRange{20000, 20099};
  options.message_ports = PortRange{20100, 20199};
  for (const auto& c : cases) {
    CAPTURE(c.custom);
    Inputs inputs = job_of({"algo-1", "algo-2"}, "algo-1");
    inputs.custom_options = c.custom;
    const std::string line = line_of(inputs, options);
    CAPTURE(line);
    CHECK(has(line, c.there));
    CHECK(!has(line, c.gone));
    CHECK(has(line, "-mca oob_tcp_dynamic_ipv4_ports 20000-20099"));
    CHECK(has(line, "-mca btl_tcp_port_min_v4 20100 -mca btl_tcp_port_range_v4 100"));
  }
}

TEST_CASE("smdataparallel: an impossible job is refused in one clear line") {
  struct {
    const char* name;
    void (*change)(Inputs&, Options&);
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"no slots", [](Inputs& i, Options&) { i.processes_per_host = 0; },
       "sagemaker_mpi_num_of_processes_per_host is 0; expected a number from 1 to 1024"},
      {"a custom option", [](Inputs& i, Options&) { i.custom_options = "-np 7"; },
       "sagemaker_distributed_dataparallel_custom_mpi_options: \"-np\""},
      {"MPICH", [](Inputs&, Options& o) { o.mpi.kind = MpiFlavour::Kind::mpich; },
       "SMDDP requires Open MPI, but this mpirun comes from MPICH"},
      {"a host that is an option", [](Inputs& i, Options&) { i.hosts[1] = "-x"; }, "host \"-x\""},
      {"no agent", [](Inputs&, Options& o) { o.agent = ""; }, "agent"},
      {"no entry point", [](Inputs& i, Options&) { i.entry_point = ""; }, "sagemaker_program"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Inputs inputs = job_of({"algo-1", "algo-2"}, "algo-1");
    Options options = on_machine();
    c.change(inputs, options);
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

TEST_CASE("smdataparallel: its hyperparameters reach the plan") {
  job::ConfigFiles files;
  files.hyperparameters =
      R"json({"sagemaker_program": "train.py", "sagemaker_instance_type": "ml.p4d.24xlarge",
          "sagemaker_distributed_dataparallel_enabled": "true",
          "sagemaker_distributed_dataparallel_custom_mpi_options": "\"-x A=b --NCCL_DEBUG=WARN\"",
          "sagemaker_mpi_custom_mpi_options": "\"-x NOT=this\""})json";
  files.resource_config =
      R"({"current_host": "algo-1", "hosts": ["algo-1", "algo-2"], "current_instance_type": "x"})";
  job::Facts facts;
  facts.num_gpus = 8;
  facts.smddprun_installed = true;
  const Result<job::Training> training = job::training_from(files, facts);
  REQUIRE(training);
  const Result<Inputs> inputs = inputs_from(*training, Runner::smdataparallel);
  REQUIRE(inputs);
  CHECK(inputs->custom_options == "-x A=b --NCCL_DEBUG=WARN");
  CHECK(inputs->instance_type == "ml.p4d.24xlarge");
  CHECK(inputs->processes_per_host == 8);
  CHECK(inputs->smddprun);
  CHECK(inputs->gpus == 8);
  CHECK(inputs_from(*training, Runner::mpi)->custom_options == "-x NOT=this");
  CHECK(inputs_from(*training, Runner::mpi)->instance_type == "x");
}

}  // namespace
}  // namespace muster::launch
