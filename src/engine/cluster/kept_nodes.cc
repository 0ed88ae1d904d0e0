#include "engine/cluster/kept_nodes.h"

namespace muster::cluster {

KeptNodes::KeptNodes(loop::Loop& loop, Ask ask, Times times)
    : ask_(std::move(ask)),
      times_(times),
      last_(fail(Errc::timeout, "Slurm has not answered yet")),
      answered_(loop),
      tasks_(loop) {}

loop::Task<Result<Json>> KeptNodes::read() {
  const TimePoint now = Clock::now();
  if (now < until_) co_return last_;
  if (!asking_) {
    asking_ = true;
    tasks_.start(ask());
  }
  while (asking_) {
    const bool answered = co_await answered_.wait_until(now + times_.wait);
    if (answered) continue;
    if (now < until_ + times_.late) co_return last_;
    co_return fail(Errc::timeout, "Slurm has not answered yet");
  }
  co_return last_;
}

loop::Task<> KeptNodes::ask() {
  last_ = co_await ask_();
  until_ = Clock::now() + times_.hold;
  asking_ = false;
  answered_.notify();
}

}  // namespace muster::cluster
