#pragma once

#include <optional>
#include <string>

#include "job/launch/plan.h"

namespace muster::launch {

enum class EntryPoint { python_package, python_program, command };

/// What the planners read of a job: job::Training, cut down to what decides.
struct Inputs {
  std::string entry_point;  ///< sagemaker_program, relative to the code folder.
  Args args;                ///< The user's arguments, from hyperparameters.
  Args command;      ///< The command that an operator runs instead of an entry point, unchanged.
  Env variables;     ///< SM_* and what else the job adds to the environment.
  std::string host;  ///< The own host's name.
  Args hosts;        ///< Hosts that take part in the distribution; the first one leads.
  int hosts_in_roll_call = 1;  ///< How many gather at one leader.
  Runner runner = Runner::process;
  int processes_per_host = 1;
  std::optional<int> processes;  ///< sagemaker_mpi_num_processes.
  std::string custom_options;    ///< For mpirun; from the hyperparameter that the launcher names.
  std::string interface = "eth0";
  std::string instance_type;
  int gpus = 0;           ///< On this host.
  bool smddprun = false;  ///< SMDDP's own launcher of ranks is installed.
};

/// `runner`: none to choose the one in the hyperparameters. Error: `invalid_input` for a value that
/// should be a number.
Result<Inputs> inputs_from(const job::Training& training, std::optional<Runner> runner);

/// Decides what this host runs. Pure.
/// Error: `invalid_input` naming the hyperparameter or option and what was expected.
/// Source: sagemaker-training 5.1.4, mpi.py and process.py; mpirun(1), Open MPI 4.1.
Result<HostPlan> plan(const Inputs& inputs, const Options& options);

/// Source: sagemaker-training 5.1.4, _entry_point_type.py.
EntryPoint entry_point_kind(const std::string& name, bool has_setup_py);

/// What runs the user's program. `module` ("mpi4py" or empty) is a Python module that runs the
/// script in turn. Error: `invalid_input`, naming sagemaker_program.
Result<Command> program_command(const Inputs& inputs, const Options& options,
                                const std::string& module);

/// As program_command(), for a runner (`who`, for the error) that takes a Python script only.
/// Error: `invalid_input`, naming sagemaker_program.
Result<Command> script_command(const Inputs& inputs, const Options& options, const std::string& who,
                               const std::string& module);

// The plan of a host of a distributed job; `inputs.host` is one of `inputs.hosts`.
// Launcher::process where nothing else is said. Error: `invalid_input`. Each is in a row of
// job/launch/launchers.cc.

/// The entry point itself, once on this host, which need be in no distribution.
Result<HostPlan> plan_process(const Inputs& inputs, const Options& options);
Result<HostPlan> plan_mpi(const Inputs& inputs, const Options& options);
/// Source: sagemaker-training 5.1.4, torch_distributed.py. Launcher::direct: one agent per host.
Result<HostPlan> plan_torchrun(const Inputs& inputs, const Options& options);
/// Source: sagemaker-training 5.1.4, pytorch_xla.py. Launcher::process.
Result<HostPlan> plan_pytorch_xla(const Inputs& inputs, const Options& options);
/// Source: sagemaker-training 5.1.4, smdataparallel.py. Launcher::mpi.
Result<HostPlan> plan_smdataparallel(const Inputs& inputs, const Options& options);

}  // namespace muster::launch
