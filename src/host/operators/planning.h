#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "job/launch/launchers.h"
#include "job/launch/plan.h"
#include "job/training/training.h"

namespace muster::operators {

/// What a caller asks for in place of what the job's files say.
struct Wish {
  std::optional<launch::Runner> runner;
  std::string entry_point;  ///< Empty: the job's.
  Args args;                ///< Empty: the job's.
  /// Hyperparameters of the launcher by name, as text: sagemaker_mpi_num_of_processes_per_host, ...
  std::map<std::string, std::string> options;
  std::string python;  ///< The interpreter; empty: python_for().
  Args command;        ///< Runs in place of an entry point, in `folder`.
  std::string folder;
  /// The caller's environment is the program's as it is, without the job's SM_* laid over it.
  bool own_environment = false;
  bool display_map = false;  ///< mpirun says which rank goes where.
};

/// What this host runs. The program's environment is `env` without MUSTER_*, the SM_* variables,
/// the code folder first on PYTHONPATH, and PYTHONUNBUFFERED=1 unless set (a killed rank loses the
/// last words that sit in its buffer). Reads the code folder, and asks `mpirun` what it is where
/// the plan is an MPI one. Errors: `invalid_input`, naming the hyperparameter or option; as
/// check_needs().
Result<launch::HostPlan> plan_host(const job::Training& training, const Env& env,
                                   const Wish& wish = {});

/// The program that starts ranks: this one, or the `sm` next to it if this one is called `train`,
/// which would interpret a rank's arguments as a job's. Error: `system`.
Result<std::string> rank_program();

/// Looks for the module that a launcher needs of `python`, as `program` would find it: in its
/// folder, with its environment. Blocks while the interpreter looks; nothing is imported. Error:
/// `not_found`, with what to install.
Result<void> check_needs(const launch::LauncherRow& launcher, const std::string& python,
                         const Command& program);

/// The interpreter that belongs to this `train`: the one on PATH or, if `train` itself is not on
/// PATH (a virtual environment that is not active), the one next to it.
std::string python_for(const Env& env);

/// SAGEMAKER_TRAINING_MODULE's program: python -m muster.framework MODULE:FUNCTION. It gets `env`
/// without MUSTER_*; the module itself sets the user's variables.
Command framework_command(const std::string& module, const Env& env);

/// True if a framework's module does the job's work; an empty SAGEMAKER_TRAINING_MODULE names none.
bool has_framework(const job::Training& training);

/// What this `train` starts for a plan's program where the hyperparameters ask for an operator over
/// all hosts (launch::script_operator): `sm OPERATOR -- PROGRAM`. The program itself where they ask
/// for none, or where the interpreter can import neither or both of TensorFlow and MXNet. Blocks
/// while the interpreter looks.
Result<Command> under_operator(const job::Training& training, Command program, const Log& log);

/// True if the job's own work is a launch over its hosts, as the hyperparameters say.
bool launches(const job::Training& training);

}  // namespace muster::operators
