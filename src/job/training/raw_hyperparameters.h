#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster::job {

// Questions that other processes than `train` ask about hyperparameters. The answers are the ones
// that `train` will give: both decode a value as JSON, or keep it as text if it isn't JSON.

/// Hyperparameters as clients send them: JSON text, or plain text.
using RawHyperparameters = std::map<std::string, std::string>;

/// False if the hyperparameter is not set. Otherwise as Python's bool() of the decoded value:
/// "True" and "1" are true, "0", "null" and "" are not.
bool is_true(const RawHyperparameters& raw, std::string_view name);

/// The hyperparameters request MPI, by the SDK's name or by the Chainer estimator's.
bool asks_for_mpi(const RawHyperparameters& raw);

/// MPI's processes per host: 0 without MPI, and 1 if the number is not set or `train` will reject
/// it.
int mpi_processes_per_host(const RawHyperparameters& raw);

}  // namespace muster::job
