#pragma once

#include "base/result.h"
#include "platform/life_cycle.h"

namespace muster::cli {

// Source: docs/protocols/exit-codes.md.
constexpr int exit_success = 0;
constexpr int exit_job_failed = 1;
constexpr int exit_usage = 2;     ///< What the user gave is wrong; nothing was started.
constexpr int exit_platform = 3;  ///< The machine lacks something, or muster itself failed.
constexpr int exit_timed_out = 4;
constexpr int exit_signal_base = 128;  ///< Plus the signal that stopped the job.

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
      return exit_timed_out;
    case platform::JobEnd::Status::stopped:
      return exit_signal_base + stop_signal;
  }
  return exit_platform;
}

}  // namespace muster::cli
