#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/command.h"
#include "base/result.h"
#include "base/time.h"
#include "command/line.h"
#include "host/env/place.h"

namespace muster::env {

/// Options of `train`: flags take precedence over MUSTER_* variables, and those over the defaults.
/// docs/protocols/environment.md lists every variable.
struct TrainOptions {
  HostFlags hosts;
  std::uint16_t port = 9730;  ///< MUSTER_ROLLCALL_PORT
  Duration join_deadline;     ///< MUSTER_JOIN_DEADLINE (seconds), 15 min
  Duration heartbeat;         ///< MUSTER_HEARTBEAT, 1 s
  Duration lost_after;        ///< MUSTER_LOST_AFTER, 5 s
  Duration stop_grace;        ///< MUSTER_STOP_DEADLINE, 30 s: from TERM to KILL on a stop
  Duration failure_grace;     ///< MUSTER_FAILURE_GRACE, 1 s: the same after a failure
  bool print_plan = false;
};

/// Pure. The defaults, overridden by variables. Error: `invalid_input`, naming the variable and the
/// expected value.
Result<TrainOptions> train_options(const Env& env);
/// Pure. Applies the flags, or returns the reason why the command is not run.
std::optional<command::Stop> read_train_flags(const Args& args, TrainOptions& options);

/// `env`, with this host's other settings: a host of the platform that starts a user's program has
/// muster's own variables in a file instead (job/host_settings.h). Errors: as read_file(), except
/// for a missing file; `invalid_input`.
Result<Env> full_environment(const Env& env);

/// Pure. The environment that user processes start from: `env` without MUSTER_* (what is muster's
/// own never reaches a user's program, save MUSTER_SOCKET and MUSTER_TRAINING_LOG, which are added
/// where operators need them). With MUSTER_INTERFACE, NCCL and gloo use that interface, unless the
/// user says otherwise.
Env user_environment(const Env& env);

}  // namespace muster::env
