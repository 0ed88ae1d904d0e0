#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/launch/plan.h"

namespace muster::launch {

// What the operators (sm mpirun, sm run, sm torchrun, sm tf, sm mxnet) run on each host. Pure.
// docs/protocols/operators.md has the rules: placement, variables, whose end decides.

/// A host as the others know it after the exchange of facts.
struct Site {
  struct Host {
    std::string name;
    /// Numeric, by which the others reach it; empty if not known. Only MXNet's programs want it.
    std::string address;
    int gpus = 0;
    std::vector<std::uint16_t> ports;  ///< Free ones that it offered, as many as it was asked for.
  };
  std::vector<Host> hosts;  ///< Hosts that take part, in the job's order; the first one leads.
  std::string self;         ///< The own host, one of `hosts`.
};

// All planners: launcher direct; HostPlan::rank is the command as it was given, which plan_text()
// compares the programs with. Errors, all `invalid_input`: `self` is not among the hosts, a host is
// there twice, a number that cannot be, fewer ports than needed.

/// `sm run`: the command once on every host.
struct RunRequest {
  Command command;
};
Result<HostPlan> plan_run(const RunRequest& request, const Site& site);

/// `sm torchrun`: one agent per host, or with `direct` the ranks themselves.
struct TorchrunRequest {
  std::optional<int> processes_per_host;  ///< None: as many as GPUs, 1 without.
  /// For torchrun itself: --max-restarts 2. May hold --nproc-per-node N, which then counts. With
  /// `direct` only what says how the script is started: -m, --no-python, --run-path.
  Args agent_options;
  bool direct = false;
  std::string python;  ///< The job's interpreter: torchrun's, and that of the script.
  std::string sm;      ///< Absolute path of our binary; what torchrun starts is `<sm> rank`.
  Command command;     ///< argv: the script and its arguments.
};
/// The leading host offers one port. Also an error: an option that is muster's to set.
Result<HostPlan> plan_torchrun(const TorchrunRequest& request, const Site& site);

/// `sm tf run-distributed-training` and `sm tf multi-worker`.
struct TensorflowRequest {
  int workers = 0;            ///< 0: one on each host.
  int parameter_servers = 0;  ///< > 0 for parameter servers; 0: multi-worker.
  bool chief = false;
  bool evaluator = false;
  /// Tasks learn their part from TF_CONFIG alone, without flags; parameter servers serve without
  /// the trainer, so that the chief and the workers, who run it, all decide.
  bool config_only = false;
  std::string python;  ///< Runs a trainer that ends in .py.
  Command command;     ///< argv: the trainer and its arguments.
};
/// How many ports `host` has to offer for this request over `hosts`; 0 for a request that
/// plan_tensorflow() refuses.
int tensorflow_ports(const TensorflowRequest& request, const Args& hosts, const std::string& host);
/// Also an error: an argument of the trainer that is muster's to set.
Result<HostPlan> plan_tensorflow(const TensorflowRequest& request, const Site& site);

/// `sm mxnet run`: a scheduler on the leading host, servers and workers everywhere.
struct MxnetRequest {
  int servers = 0;  ///< 0: one on each host.
  int workers = 0;  ///< 0: one on each host.
  /// Runs a program that ends in .py, and the scheduler and servers where the program's own words
  /// name no interpreter.
  std::string python = "python3";
  Command command;  ///< argv: the program and its arguments.
};
/// The leading host offers one port.
Result<HostPlan> plan_mxnet(const MxnetRequest& request, const Site& site);

/// A script's operator, as the hyperparameters of a job without a framework package ask for it:
/// the words between `sm` and the script, empty for none. `framework`: "tensorflow", "mxnet" or
/// empty, what the job's interpreter can import.
/// Source: sagemaker_tensorflow_training 20.5.0 and sagemaker_mxnet_training 4.3.0, training.py.
Args script_operator(const job::Training& training, std::string_view framework);
/// True if script_operator() may give one, by framework.
bool wants_operator(const job::Training& training);

}  // namespace muster::launch
