#pragma once

#include "base/command.h"
#include "base/result.h"
#include "job/launch/plan.h"

namespace muster::operators {

/// Determines the MPI of the `mpirun` on the PATH of `env`: runs `mpirun --version` and blocks, at
/// most 10 s. Errors: `not_found` without one, `timeout`, `invalid_input` for an unknown one.
Result<launch::MpiFlavour> mpi_version(const Env& env);

/// The result of mpi_version() for a host that does not start `mpirun` itself, without running it
/// if its file is sufficient: Open MPI's is a link to `orterun` up to version 4 (only the leading
/// host distinguishes 4 from earlier versions). Otherwise, and on errors, as mpi_version().
Result<launch::MpiFlavour> mpi_version_of_member(const Env& env);

}  // namespace muster::operators
