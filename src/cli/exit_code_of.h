#pragma once

#include "base/result.h"
#include "command/exit_codes.h"
#include "platform/life_cycle.h"

namespace muster::cli {

// What they mean: docs/protocols/exit-codes.md.
using command::exit_platform;
using command::exit_signal_base;
using command::exit_success;
using command::exit_timed_out;
using command::exit_usage;
constexpr int exit_job_failed = command::exit_failed;
constexpr int exit_wait_timed_out = 124;  ///< As timeout(1) has it: 4 is a job's own time limit.

inline int exit_code_of(Errc code) {
  return code == Errc::invalid_input ? exit_usage : exit_platform;
}

/// `stop_signal`: the signal that asked for the stop.
inline int exit_code_of(platform::JobEnd::Status status, int stop_signal) {
  switch (status) {
    case platform::JobEnd::Status::completed:
      return exit_success;
    case platform::JobEnd::Status::failed:
      return exit_job_failed;
    case platform::JobEnd::Status::timed_out:
    case platform::JobEnd::Status::waited_out:
      return exit_timed_out;
    case platform::JobEnd::Status::stopped:
      return exit_signal_base + stop_signal;
  }
  return exit_platform;
}

}  // namespace muster::cli
