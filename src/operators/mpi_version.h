#pragma once

#include "base/command.h"
#include "base/result.h"
#include "launch/plan.h"

namespace muster::operators {

/// Tells which MPI the `mpirun` on the PATH of `env` is: runs `mpirun --version` and blocks for it,
/// at most 10 s. Errors: `not_found` without one, `timeout`, `invalid_input` for an unknown one.
Result<launch::MpiFlavour> mpi_version(const Env& env);

}  // namespace muster::operators
