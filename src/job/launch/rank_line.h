#pragma once

#include "base/command.h"
#include "base/result.h"

namespace muster::launch {

// torch's launcher and DeepSpeed's start ranks themselves. Here they start `sm rank`, which starts
// the rank's program and reports it to its host (docs/protocols/host-socket.md). Pure.

/// `sm rank -- ARGV`: runs ARGV as the rank that RANK and LOCAL_RANK name.
Args rank_line(const std::string& sm, const Args& argv);

/// What torchrun starts for each rank: read from its own options and its variables PET_*.
struct TorchScript {
  Args agent_options;  ///< Without those that say how the script is started.
  Args argv;           ///< The rank's program, as torchrun would start it.
};
/// `script`: the script and its arguments. Error: `invalid_input`, options that exclude each other.
/// Source: torch 2.0.1 and 2.9, torch/distributed/run.py, config_from_args().
Result<TorchScript> torch_script(const std::string& python, const Args& options, const Args& script,
                                 const Env& env);
/// Without the variables that torch_script() reads.
Env without_script_options(Env env);

/// torchrun of the interpreter, without options yet.
Args torchrun_of(const std::string& python);

}  // namespace muster::launch
