#include "machine/node/host_steward.h"

#include <signal.h>

#include <algorithm>

#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"
#include "os/supervise/start_steward.h"

namespace muster::node {
namespace {

constexpr std::chrono::seconds clear_up_max{15};  ///< Time for a steward whose lifeline has ended.
constexpr std::chrono::seconds kill_max{5};

/// The link's messages must not contain control characters.
void make_plain(std::string& line) {
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; }, ' ');
}

}  // namespace

HostSteward::HostSteward(loop::Loop& loop, std::string program, Env env)
    : loop_(loop),
      program_(std::move(program)),
      env_(std::move(env)),
      state_(std::make_shared<State>(loop)),
      programs_(loop),
      tasks_(loop) {}

Result<void> HostSteward::start(const job::HostSpec& spec, const Fd& lock,
                                std::function<void(job::Outcome)> on_end) {
  TRY(job::check(spec));
  host_folder_ = spec.host_folder;
  lifeline_ = TRY(make_pipe());
  const pid_t pid = TRY(supervise::start_steward(
      spec,
      {.program = program_, .env = env_, .lifeline = lifeline_.read.get(), .lock = lock.get()}));
  lifeline_.read.reset();
  state_->pid = pid;
  programs_.reaper().watch(pid, [state = state_, folder = host_folder_,
                                 on_end = std::move(on_end)](job::Outcome outcome) {
    state->pid.reset();
    outcome = supervise::steward_outcome(std::move(outcome), folder);
    make_plain(outcome.text);
    on_end(std::move(outcome));
    state->ended.notify();
  });
  return {};
}

void HostSteward::stop(std::chrono::milliseconds grace) {
  if (runs()) tasks_.start(ask_to_stop(grace));
}

loop::Task<> HostSteward::ask_to_stop(std::chrono::milliseconds grace) {
  const bool asked = co_await supervise::ask_steward_to_stop(loop_, host_folder_, grace);
  if (asked || !runs()) co_return;
  programs_.reaper().signal(*state_->pid, SIGTERM);  // A second signal kills now.
  if (grace.count() == 0 && runs()) programs_.reaper().signal(*state_->pid, SIGINT);
}

loop::Task<> HostSteward::kill() {
  lifeline_.write.reset();  // The steward kills its host and cleans up.
  const TimePoint deadline = Clock::now() + clear_up_max;
  bool in_time = true;
  while (runs() && in_time) in_time = co_await state_->ended.wait_until(deadline);
  static_cast<void>(co_await programs_.reaper().kill_descendants(Clock::now() + kill_max));
}

loop::Task<> HostSteward::sweep() {
  Command command{.argv = {program_, "steward", "--sweep"}, .env = env_, .cwd = "/"};
  static_cast<void>(co_await programs_.run(std::move(command), clear_up_max, true));
}

}  // namespace muster::node
