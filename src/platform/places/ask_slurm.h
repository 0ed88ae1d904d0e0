#pragma once

#include "base/command.h"
#include "net/loop/loop.h"

namespace muster::places {

/// See cluster::ask_slurm(). The process must have no other children meanwhile.
loop::Task<Result<std::string>> ask_slurm(loop::Loop& loop, Env env, Args argv);

}  // namespace muster::places
