#include "job/launch/launchers.h"

#include <algorithm>

#include "base/text.h"

namespace muster::launch {

const std::vector<LauncherRow>& launchers() {
  // Source of names and hyperparameters: sagemaker-training 5.1.4, runner.py and params.py. There
  // framework packages alone ask for smdataparallel and pytorch_xla; deepspeed is muster's own.
  static const std::vector<LauncherRow> rows = {
      {.name = "process", .plan = plan_process},
      {.name = "mpi",
       .hyperparameter = "sagemaker_mpi_enabled",
       .custom_options = "sagemaker_mpi_custom_mpi_options",
       .needs = {.mpirun = true, .usual = "mpi4py"},
       .asked = {"--mpi", "sagemaker_mpi_enabled"},
       .plan = plan_mpi},
      {.name = "smdataparallel",
       .custom_options = "sagemaker_distributed_dataparallel_custom_mpi_options",
       .needs = {.mpirun = true},
       .plan = plan_smdataparallel},
      {.name = "torch_distributed",
       .hyperparameter = "sagemaker_torch_distributed_enabled",
       .needs = {.module = "torch", .install = "pip install torch", .usual = "torch"},
       .asked = {"--torchrun", "sagemaker_torch_distributed_enabled"},
       .plan = plan_torchrun,
       .operators = {{"torchrun", read_torchrun}}},
      {.name = "deepspeed",
       .hyperparameter = "sagemaker_deepspeed_enabled",
       .needs = {.module = "deepspeed", .install = "pip install deepspeed", .usual = "deepspeed"},
       .plan = plan_deepspeed,
       .operators = {{"deepspeed", read_deepspeed}}},
      {.name = "pytorch_xla", .plan = plan_pytorch_xla},
      {.name = "tensorflow",
       .needs = {.usual = "tensorflow"},
       .asked = {"--tf", "sagemaker_multi_worker_mirrored_strategy_enabled"},
       .operators = {{"tf run-distributed-training", read_tf_training},
                     {"tf multi-worker", read_tf_multi_worker}}},
      {.name = "mxnet",
       .needs = {.usual = "mxnet"},
       .asked = {"--mxnet", "sagemaker_parameter_server_enabled"},
       .operators = {{"mxnet run", read_mxnet}}},
      {.name = "run", .operators = {{"run", read_run}}},
  };
  return rows;
}

namespace {

const LauncherRow* planner(std::string_view name) {
  for (const LauncherRow& row : launchers())
    if (row.name == name && row.plan != nullptr) return &row;
  return nullptr;
}

}  // namespace

const LauncherRow& launcher_of(Runner runner) {
  const LauncherRow* row = planner(runner.name);
  CHECK_THAT(row != nullptr, "a runner is a launcher with a plan");
  return *row;
}

Result<Runner> runner_named(std::string_view name) {
  if (const LauncherRow* row = planner(name)) return Runner{row->name};
  Args names;
  for (const LauncherRow& row : launchers())
    if (row.plan != nullptr) names.emplace_back(row.name);
  const std::string last = names.back();
  names.pop_back();
  return fail(Errc::invalid_input, "\"" + to_utf8(std::string(name)) + "\"; expected " +
                                       join(names, ", ") + " or " + last);
}

OperatorRow operator_named(std::string_view name) {
  for (const LauncherRow& row : launchers())
    for (const Operator& each : row.operators)
      if (each.name == name) return {&row, &each};
  return {};
}

Args usual_modules() {
  Args modules;
  for (const LauncherRow& row : launchers())
    if (!row.needs.usual.empty()) modules.emplace_back(row.needs.usual);
  return modules;
}

int OperatorLine::number(const std::string& flag) const {
  return static_cast<int>(parse_integer(text(flag)).value_or(0));
}

std::string OperatorLine::text(const std::string& flag) const {
  const Env::const_iterator at = flags.find(flag);
  return at == flags.end() ? "" : at->second;
}

int no_ports(const Args& /*hosts*/, const std::string& /*host*/) {
  return 0;
}

int leaders_port(const Args& hosts, const std::string& host) {
  return host == hosts.front() ? 1 : 0;
}

}  // namespace muster::launch
