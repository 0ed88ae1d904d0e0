#include <doctest/doctest.h>

#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

Inputs job_of(const Args& hosts, const std::string& host) {
  Inputs inputs;
  inputs.entry_point = "train.py";
  inputs.args = {"--epochs", "2"};
  inputs.host = host;
  inputs.hosts = hosts;
  inputs.hosts_in_roll_call = static_cast<int>(hosts.size());
  inputs.runner = Runner::pytorch_xla;
  inputs.gpus = 8;
  inputs.processes_per_host = 8;
  return inputs;
}

Options in_code() {
  Options options;
  options.python = "/opt/conda/bin/python";
  options.code_dir = "/opt/ml/code";
  options.env = {{"NCCL_DEBUG", "WARN"}, {"HOME", "/root"}};
  return options;
}

// The wanted lines and variables are those of sagemaker-training 5.1.4's PyTorchXLARunner.
TEST_CASE("pytorch xla: the line and the variables are the reference's") {
  const Env common = {
      {"FI_EFA_USE_DEVICE_RDMA", "1"}, {"GPU_NUM_DEVICES", "8"}, {"HOME", "/root"},
      {"NCCL_DEBUG", "info"},          {"NCCL_PROTO", "simple"}, {"OFI_NCCL_NIC_DUP_CONNS", "8"},
      {"PYTHONPATH", "/opt/ml/code"},  {"PYTHONUNBUFFERED", "1"}};
  struct {
    const char* name;
    Args hosts;
    const char* host;
    Env env;
  } const cases[] = {
      {"one host",
       {"algo-1"},
       "algo-1",
       {{"XRT_HOST_ORDINAL", "0"},
        {"XRT_SHARD_WORLD_SIZE", "1"},
        {"XRT_WORKERS", "localservice:0;algo-1:43857"}}},
      {"second of two",
       {"algo-1", "algo-2"},
       "algo-2",
       {{"XRT_HOST_ORDINAL", "1"},
        {"XRT_MESH_SERVICE_ADDRESS", "algo-1:53957"},
        {"XRT_SHARD_WORLD_SIZE", "2"},
        {"XRT_WORKERS", "localservice:0;algo-1:43857|localservice:1;algo-2:43857"}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> got = plan(job_of(c.hosts, c.host), in_code());
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(got->rank.argv == Args{"/opt/conda/bin/python", "-m", "torch_xla.distributed.xla_spawn",
                                 "--num_gpus", "8", "train.py", "--epochs", "2"});
    Env want = common;
    want.insert(c.env.begin(), c.env.end());
    CHECK(got->rank.env == want);
    CHECK(got->launcher == Launcher::process);
    CHECK(!got->launcher_command);
    CHECK(got->roll_call == (c.hosts.size() > 1));
  }
}

TEST_CASE("pytorch xla: an impossible job is refused in one clear line") {
  struct {
    const char* name;
    void (*change)(Inputs&, Options&);
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"no GPU", [](Inputs& i, Options&) { i.gpus = 0; },
       "sagemaker_pytorch_xla_multi_worker_enabled: PyTorch/XLA runs only on GPUs, but algo-1 "
       "has none"},
      {"package", [](Inputs&, Options& o) { o.has_setup_py = true; },
       "sagemaker_program \"train.py\" is a Python package"},
      {"shell script", [](Inputs& i, Options&) { i.entry_point = "run.sh"; },
       "sagemaker_program \"run.sh\" is not a Python script (.py), but PyTorch/XLA"},
      {"missing", [](Inputs&, Options& o) { o.entry_exists = false; }, "is not in /opt/ml/code"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Inputs inputs = job_of({"algo-1"}, "algo-1");
    Options options = in_code();
    c.change(inputs, options);
    const Result<HostPlan> got = plan(inputs, options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

}  // namespace
}  // namespace muster::launch
