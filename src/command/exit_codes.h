#pragma once

namespace muster::command {

// Exit codes of commands for people. Each command's page (page.h) explains its own;
// docs/protocols/exit-codes.md lists all.
constexpr int exit_success = 0;
constexpr int exit_failed = 1;    ///< The job or program failed.
constexpr int exit_usage = 2;     ///< What the user gave is wrong; nothing was started.
constexpr int exit_platform = 3;  ///< The machine lacks something, or muster itself failed.
constexpr int exit_timed_out = 4;
constexpr int exit_signal_base = 128;  ///< Plus the signal that stopped the job.

}  // namespace muster::command
