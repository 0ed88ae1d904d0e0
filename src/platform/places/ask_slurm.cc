#include "platform/places/ask_slurm.h"

#include "engine/cluster/slurm.h"
#include "os/supervise/programs.h"

namespace muster::places {

loop::Task<Result<std::string>> ask_slurm(loop::Loop& loop, Env env, Args argv) {
  supervise::Programs programs(loop);
  co_return co_await cluster::ask_slurm(programs, std::move(env), std::move(argv));
}

}  // namespace muster::places
