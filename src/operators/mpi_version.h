#pragma once

#include "base/command.h"
#include "base/result.h"
#include "launch/plan.h"

namespace muster::operators {

/// Tells which MPI the `mpirun` on the PATH of `env` is: runs `mpirun --version` and blocks for it,
/// at most 10 s. Errors: `not_found` without one, `timeout`, `invalid_input` for an unknown one.
Result<launch::MpiFlavour> mpi_version(const Env& env);

/// What mpi_version() would tell a host that does not start `mpirun` itself, without running it
/// where its file says enough: Open MPI's is a link to `orterun` up to version 4 (of which only the
/// leading host tells 4 from those before). Else, and on errors, as mpi_version().
Result<launch::MpiFlavour> mpi_version_of_member(const Env& env);

}  // namespace muster::operators
