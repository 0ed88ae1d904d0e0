#include "net/loop/worker.h"

#include <memory>
#include <thread>

#include "net/loop/wait.h"

namespace muster::loop {
namespace {

struct Job {
  explicit Job(Loop& loop) : done(loop) {}
  bool posted = false;
  Event done;
};

}  // namespace

Task<> run_in_thread(Loop& loop, std::function<void()> work) {
  const std::shared_ptr<Job> job = std::make_shared<Job>(loop);
  // Posting comes last in the thread, and the loop outlives it: the join below is short.
  const std::jthread thread([&loop, job, work = std::move(work)] {
    work();
    loop.post([job] {
      job->posted = true;
      job->done.notify();
    });
  });
  while (!job->posted) co_await job->done.wait();
}

}  // namespace muster::loop
