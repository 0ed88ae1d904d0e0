#pragma once

#include <memory>
#include <string>

#include "base/command.h"
#include "engine/local.h"
#include "platform/interpreter.h"

namespace muster::platform {

/// This machine as a place for jobs. One exists in a process.
class Machine {
 public:
  /// `env`: PATH finds programs, MUSTER_STATE the folder of this machine's jobs
  /// (default /var/lib/muster). With `outlived` jobs go on without this process, for resume_job().
  Machine(loop::Loop& loop, const Env& env, const std::string& program = "/proc/self/exe",
          bool outlived = false);

  engine::Engine& engine() { return local_; }
  /// See engine::Local::sweep().
  loop::Task<Result<std::string>> sweep(bool kept_too, bool json) {
    return local_.sweep(kept_too, json);
  }
  loop::Task<Result<Interpreter>> interpreter(std::string python, std::string cwd) {
    return find_interpreter(programs_, std::move(python), env_, std::move(cwd));
  }

 private:
  Env env_;
  engine::Programs programs_;
  engine::Local local_;
};

/// The state folder that `env` names, absolute.
std::string state_folder(const Env& env);

}  // namespace muster::platform
