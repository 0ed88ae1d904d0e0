#include "server/jobs/until_stored.h"

#include "net/loop/wait.h"

namespace muster::jobs {
namespace {

constexpr Duration pause_between = std::chrono::seconds(1);

}  // namespace

loop::Task<> until_stored(loop::Loop& loop, const Reserve& reserve, const Log& log, std::string job,
                          std::function<Result<void>()> work) {
  loop::Timer pause(loop);
  bool is_logged = false;
  while (true) {
    const Result<void> done = work();
    if (done) co_return;
    if (!is_logged)
      log.error(job + ": the job's final state cannot be stored yet: " + done.error().text);
    is_logged = true;
    if (!reserve.give()) co_await pause.after(pause_between);
  }
}

}  // namespace muster::jobs
