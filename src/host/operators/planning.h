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

/// A caller's request, which overrides the job's files.
struct Wish {
  std::optional<launch::Runner> runner;
  std::string entry_point;  ///< Empty: the job's.
  Args args;                ///< Empty: the job's.
  /// Hyperparameters of the launcher by name, as text: sagemaker_mpi_num_of_processes_per_host, ...
  std::map<std::string, std::string> options;
  std::string python;  ///< The interpreter; empty: python_for().
  Args command;        ///< Runs instead of an entry point, in `folder`.
  std::string folder;
  /// The program gets the caller's environment unchanged, without the job's SM_* variables.
  bool own_environment = false;
  bool display_map = false;  ///< mpirun prints the host of each rank.
};

/// Plans what this host runs. The program's environment is `env` without MUSTER_*, the SM_*
/// variables, the code folder first on PYTHONPATH, and PYTHONUNBUFFERED=1 unless set (otherwise a
/// killed rank loses its buffered output). Reads the code folder and, for MPI, runs `mpirun
/// --version`. Errors: `invalid_input`, naming the hyperparameter or option; as check_needs().
Result<launch::HostPlan> plan_host(const job::Training& training, const Env& env,
                                   const Wish& wish = {});

/// The program that starts ranks: this one, or the `sm` next to it if this one is called `train`,
/// which would interpret a rank's arguments as a job's. Error: `system`.
Result<std::string> rank_program();

/// Checks that `python` has the module that a launcher needs, in the folder and environment of
/// `program`. Blocks while the interpreter searches; nothing is imported. Error: `not_found`,
/// naming the package to install.
Result<void> check_needs(const launch::LauncherRow& launcher, const std::string& python,
                         const Command& program);

/// The interpreter that belongs to this `train`: the one on PATH or, if `train` itself is not on
/// PATH (a virtual environment that is not active), the one next to it.
std::string python_for(const Env& env);

/// SAGEMAKER_TRAINING_MODULE's program: python -m muster.framework MODULE:FUNCTION. It gets `env`
/// without MUSTER_*; the module itself sets the user's variables.
Command framework_command(const std::string& module, const Env& env);

/// True if a framework's module does the job's work; an empty SAGEMAKER_TRAINING_MODULE means no
/// module.
bool has_framework(const job::Training& training);

/// The command that `train` starts for a plan's program. If the hyperparameters request an operator
/// over all hosts (launch::script_operator), it is `sm OPERATOR -- PROGRAM`. Otherwise, or if the
/// interpreter can import neither or both of TensorFlow and MXNet, it is the program itself. Blocks
/// while the interpreter searches.
Result<Command> under_operator(const job::Training& training, Command program, const Log& log);

/// True if the hyperparameters make the job's own work a launch over its hosts.
bool launches(const job::Training& training);

}  // namespace muster::operators
