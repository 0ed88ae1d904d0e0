#include "net/loop/worker.h"

#include <memory>
#include <system_error>
#include <thread>

#include "net/loop/wait.h"

namespace muster::loop {
namespace {

constexpr Duration thread_again = std::chrono::milliseconds(100);

struct Job {
  explicit Job(Loop& loop) : done(loop) {}
  bool posted = false;
  Event done;
};

/// False if no thread can be started, because of a limit on processes or memory.
bool start(std::jthread& thread, const std::function<void()>& work) try {
  thread = std::jthread(work);
  return true;
} catch (const std::system_error&) {
  return false;
}

}  // namespace

Task<> run_in_thread(Loop& loop, std::function<void()> work) {
  const std::shared_ptr<Job> job = std::make_shared<Job>(loop);
  // Posting comes last in the thread, and the loop outlives it: the join below is short.
  const std::function<void()> run = [&loop, job, work = std::move(work)] {
    work();
    loop.post([job] {
      job->posted = true;
      job->done.notify();
    });
  };
  Timer timer(loop);
  std::jthread thread;
  // Other threads will end, so waiting is enough. Ending the process would end all other work.
  while (!start(thread, run)) co_await timer.after(thread_again);
  while (!job->posted) co_await job->done.wait();
}

}  // namespace muster::loop
