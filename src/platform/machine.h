#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/command.h"
#include "engine/local.h"
#include "platform/interpreter.h"

namespace muster::platform {

/// The machine as a place for jobs. One exists in a process.
class Machine {
 public:
  struct Options {
    std::string program = "/proc/self/exe";       ///< `sm`.
    bool outlived = false;                        ///< Jobs go on without us, for resume_job().
    std::optional<std::int64_t> first_user_id{};  ///< See engine::Local::Options::id_base.
  };
  /// `env`: PATH finds programs, MUSTER_STATE the folder of this machine's jobs
  /// (default /var/lib/muster).
  Machine(loop::Loop& loop, const Env& env, const Options& options);

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
