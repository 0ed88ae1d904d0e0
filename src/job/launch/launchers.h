#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/launch/operators.h"
#include "job/launch/plan.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {

// The launchers that there are, as one table: what asks for each, what it wants installed, who
// plans for it. To add one: a file with its plans, its test, its row in launchers.cc, its command's
// page in command/table_operators.cc. Pure.

/// A line of an operator, `sm torchrun ...`, read by the page of that name in the table of
/// commands.
struct OperatorLine {
  /// What was given: values by the page's names of flags; empty for a flag that takes none. A flag
  /// whose value is called N holds a whole number >= 1, one with choices holds one of them.
  Env flags;
  std::string python;  ///< The job's interpreter, a path or a name for PATH.
  std::string sm;      ///< Absolute path of our binary, for `<sm> rank`.
  Command command;     ///< argv: the program and its arguments, at least one word.

  bool has(const std::string& flag) const { return flags.contains(flag); }
  /// 0 if it was not given.
  int number(const std::string& flag) const;
  /// Empty if it was not given.
  std::string text(const std::string& flag) const;
};

/// What an operator whose programs each host starts itself decides once it knows all hosts.
struct Operation {
  /// How many free ports this host offers.
  std::function<int(const Args& hosts, const std::string& host)> ports;
  /// Errors: as the planners in job/launch/operators.h.
  std::function<Result<HostPlan>(const Site& site)> plan;
  /// muster starts the ranks itself: what the launcher needs is not needed.
  bool direct = false;
};

/// For Operation::ports: none, or one of the leading host.
int no_ports(const Args& hosts, const std::string& host);
int leaders_port(const Args& hosts, const std::string& host);

struct Operator {
  std::string_view name;  ///< As behind `sm`, and its page's: "tf multi-worker".
  /// Error: `invalid_input` for a line that cannot be; one line that names the flag.
  Result<Operation> (*read)(OperatorLine line);
};

/// Requirements of a launcher that only its own plan cannot check. A missing program is reported
/// when it is started.
struct Needs {
  bool mpirun = false;         ///< The plan must know the flavour of mpirun (Options::mpi).
  std::string_view module{};   ///< A Python module of the job's interpreter: "torch"; empty: none.
  std::string_view install{};  ///< What brings the module: "pip install torch".
  /// The module that a launcher's programs mostly import: `sm doctor` looks for it, no plan does.
  std::string_view usual{};
};

/// One launcher.
struct LauncherRow {
  std::string_view name;  ///< As in `sm toolkit run --runner` and Runner.
  /// Asks for it where it is true and no framework's package decides; empty: none does. One of
  /// job::distribution_parameters().
  std::string_view hyperparameter{};
  std::string_view custom_options{};  ///< The hyperparameter with options for mpirun; may be empty.
  Needs needs{};
  /// The flag of `sm fit` and `sm submit` that selects the launcher, on both commands' pages, and
  /// the hyperparameter that the flag sets to true; empty if there is no flag.
  struct Asked {
    std::string_view flag{};
    std::string_view hyperparameter{};
  };
  Asked asked{};
  /// What a job's host runs where the launcher is the job's own; none: it has operators only.
  Result<HostPlan> (*plan)(const Inputs& inputs, const Options& options) = nullptr;
  std::vector<Operator> operators{};
};

/// All launchers. Where a job asks for two the first one wins.
const std::vector<LauncherRow>& launchers();
/// The modules that rows call usual.
Args usual_modules();
/// The row of a runner; aborts if no row has a plan for it.
const LauncherRow& launcher_of(Runner runner);
/// Error: `invalid_input`: no launcher with a plan has this name; lists those that there are.
Result<Runner> runner_named(std::string_view name);
/// The row that has an operator, and the operator; nullptrs if none has.
struct OperatorRow {
  const LauncherRow* launcher = nullptr;
  const Operator* found = nullptr;
};
OperatorRow operator_named(std::string_view name);

// Converts operators' command lines to their planners' requests; each is next to its planner.

Result<Operation> read_run(OperatorLine line);
Result<Operation> read_torchrun(OperatorLine line);
Result<Operation> read_tf_training(OperatorLine line);
Result<Operation> read_tf_multi_worker(OperatorLine line);
Result<Operation> read_mxnet(OperatorLine line);
Result<Operation> read_deepspeed(OperatorLine line);

/// A node launcher of DeepSpeed on every host of the distribution, all with as many processes.
/// Launcher::process. Source: microsoft/DeepSpeed 0.16.5, launcher/launch.py.
Result<HostPlan> plan_deepspeed(const Inputs& inputs, const Options& options);

}  // namespace muster::launch
