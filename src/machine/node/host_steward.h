#pragma once

// Inside node/ only.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/command.h"
#include "base/fd.h"
#include "job/host_spec.h"
#include "job/outcome/outcome.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/supervise/programs.h"

namespace muster::node {

/// The steward of this node's host: a child process that ends with this process.
class HostSteward {
 public:
  HostSteward(loop::Loop& loop, std::string program, Env env);
  HostSteward(const HostSteward&) = delete;
  HostSteward& operator=(const HostSteward&) = delete;

  /// Starts it; it also holds `lock`. `on_end` is called once, from the loop, with its last output
  /// if it failed. Errors: `invalid_input` for an invalid specification; `system`, and as
  /// supervise::spawn.
  Result<void> start(const job::HostSpec& spec, const Fd& lock,
                     std::function<void(job::Outcome)> on_end);
  bool runs() const { return state_->pid.has_value(); }
  std::optional<pid_t> pid() const { return state_->pid; }
  /// Uses the process's only reaper.
  supervise::Programs& programs() { return programs_; }
  /// Asks it to stop its host. Each call counts: a second one kills.
  void stop(std::chrono::milliseconds grace);
  /// Kills it with its host and all their descendants, without a report.
  loop::Task<> kill();
  /// Removes leftover containers of killed stewards, from this or an earlier job. None is running:
  /// they ended with their stewards.
  loop::Task<> sweep();

 private:
  struct State {
    explicit State(loop::Loop& loop) : ended(loop) {}
    std::optional<pid_t> pid;  ///< While it runs.
    loop::Event ended;
  };
  loop::Task<> ask_to_stop(std::chrono::milliseconds grace);

  loop::Loop& loop_;
  std::string program_;
  Env env_;
  std::string host_folder_;
  Pipe lifeline_;
  std::shared_ptr<State> state_;
  supervise::Programs programs_;
  loop::Tasks tasks_;
};

}  // namespace muster::node
