#include "machine/ask_slurm.h"

#include "cluster/slurm.h"
#include "supervise/programs.h"

namespace muster::machine {

loop::Task<Result<std::string>> ask_slurm(loop::Loop& loop, Env env, Args argv) {
  supervise::Programs programs(loop);
  co_return co_await cluster::ask_slurm(programs, std::move(env), std::move(argv));
}

}  // namespace muster::machine
