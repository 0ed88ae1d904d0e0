#pragma once

#include "base/command.h"
#include "loop/loop.h"

namespace muster::machine {

/// What one of Slurm's commands prints, `argv` from room `slurm`; asked in its own words whatever
/// SQUEUE_* and SINFO_* say. Nobody else of the process has children meanwhile. Errors:
/// `unsupported` where the command is not there; `system` with its last line where it fails, also
/// where its exit code says otherwise; `timeout`.
loop::Task<Result<std::string>> ask_slurm(loop::Loop& loop, Env env, Args argv);

}  // namespace muster::machine
