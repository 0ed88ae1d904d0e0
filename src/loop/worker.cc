#include "loop/worker.h"

#include <memory>
#include <optional>
#include <thread>

#include "loop/wait.h"

namespace muster::loop {
namespace {

struct Job {
  explicit Job(Loop& loop) : done(loop) {}
  std::optional<Result<void>> result;  ///< Written by the thread before it posts.
  bool posted = false;
  Event done;
};

}  // namespace

Task<Result<void>> in_thread(Loop& loop, std::function<Result<void>()> work) {
  const std::shared_ptr<Job> job = std::make_shared<Job>(loop);
  // Posting comes last in the thread, and the loop outlives it: the join below is short.
  const std::jthread thread([&loop, job, work = std::move(work)]() mutable {
    job->result = work();
    loop.post([job] {
      job->posted = true;
      job->done.notify();
    });
  });
  while (!job->posted) co_await job->done.wait();
  co_return *job->result;
}

}  // namespace muster::loop
