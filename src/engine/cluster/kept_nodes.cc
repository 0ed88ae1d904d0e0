#include "engine/cluster/kept_nodes.h"

namespace muster::cluster {

KeptNodes::KeptNodes(loop::Loop& loop, Ask ask, Times times)
    : ask_(std::move(ask)),
      times_(times),
      last_(fail(Errc::timeout, "Slurm has not answered yet")),
      answered_(loop),
      tasks_(loop) {}

loop::Task<Result<std::shared_ptr<const KeptNodes::Nodes>>> KeptNodes::read() {
  const TimePoint now = Clock::now();
  if (now < until_) co_return last_;
  if (!asking_) {
    asking_ = true;
    tasks_.start(ask());
  }
  while (asking_)
    if (!co_await answered_.wait_until(now + times_.wait))
      co_return fail(Errc::timeout, "Slurm has not answered yet");
  co_return last_;
}

loop::Task<> KeptNodes::ask() {
  Result<Nodes> nodes = co_await ask_();
  if (nodes)
    last_ = std::make_shared<const Nodes>(*std::move(nodes));
  else
    last_ = nodes.error();
  until_ = Clock::now() + times_.hold;
  asking_ = false;
  answered_.notify();
}

}  // namespace muster::cluster
