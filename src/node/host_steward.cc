#include "node/host_steward.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "job/message.h"
#include "loop/unix.h"
#include "loop/wait.h"
#include "supervise/spawn.h"

namespace muster::node {
namespace {

constexpr int lifeline_number = 3;
constexpr int lock_number = 4;
constexpr std::size_t log_tail_bytes = 500;
constexpr std::chrono::seconds clear_up_max{15};  ///< For a steward whose lifeline has ended.
constexpr std::chrono::seconds kill_max{5};

/// What the steward said last on its standard error; empty if nothing.
std::string last_line(const std::string& log_file) {
  const std::string text = trim(read_file(log_file).value_or(""));
  std::string line = text.substr(text.rfind('\n') + 1);
  line = to_utf8(line.substr(line.size() - std::min(line.size(), log_tail_bytes)));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; }, ' ');
  return line;
}

}  // namespace

HostSteward::HostSteward(loop::Loop& loop, std::string program, Env env)
    : loop_(loop),
      program_(std::move(program)),
      env_(std::move(env)),
      state_(std::make_shared<State>(loop)),
      reaper_(loop),
      tasks_(loop) {}

Result<void> HostSteward::start(const job::HostSpec& spec, const Fd& lock,
                                std::function<void(job::Outcome)> on_end) {
  TRY(job::check(spec));
  host_folder_ = spec.host_folder;
  const std::string spec_file = host_folder_ + "/spec.json";
  TRY(write_file(spec_file, to_text(job::to_json(spec)), 0600));
  lifeline_ = TRY(make_pipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string log_file = host_folder_ + "/steward.log";
  const Fd log(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!null || !log) return fail_errno(log_file);
  const Command command{.argv = {program_, "steward", "--spec", spec_file, "--lifeline",
                                 std::to_string(lifeline_number)},
                        .env = env_,
                        .cwd = "/"};
  const supervise::Stdio stdio{
      null.get(),
      log.get(),
      log.get(),
      {{lifeline_number, lifeline_.read.get()}, {lock_number, lock.get()}}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {.own_session = true}));
  lifeline_.read.reset();
  state_->pid = pid;
  reaper_.watch(pid, [state = state_, log_file, on_end = std::move(on_end)](job::Outcome outcome) {
    state->pid.reset();
    const std::string said = outcome.success() ? "" : last_line(log_file);
    if (!said.empty() && outcome.kind == job::Outcome::Kind::exited)
      outcome = job::Outcome::failed(said);
    on_end(std::move(outcome));
    state->ended.notify();
  });
  return {};
}

void HostSteward::stop(std::chrono::milliseconds grace) {
  if (runs()) tasks_.start(ask_to_stop(grace));
}

loop::Task<> HostSteward::ask_to_stop(std::chrono::milliseconds grace) {
  Result<std::unique_ptr<loop::UnixChannel>> channel =
      loop::unix_connect(loop_, host_folder_ + "/control.sock");
  if (!channel) {  // Just started, or about to end. A second signal kills now.
    if (!runs()) co_return;
    reaper_.signal(*state_->pid, SIGTERM);
    if (grace.count() == 0 && runs()) reaper_.signal(*state_->pid, SIGINT);
    co_return;
  }
  (*channel)->post(job::type_of(job::Message::signal),
                   to_text(Json{{"signal", SIGTERM}, {"grace_ms", grace.count()}}));
  static_cast<void>(co_await (*channel)->flushed());
}

loop::Task<> HostSteward::kill() {
  lifeline_.write.reset();  // The steward kills its host and clears up.
  const TimePoint deadline = Clock::now() + clear_up_max;
  bool in_time = true;
  while (runs() && in_time) in_time = co_await state_->ended.wait_until(deadline);
  static_cast<void>(co_await reaper_.kill_descendants(Clock::now() + kill_max));
}

}  // namespace muster::node
