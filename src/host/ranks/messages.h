#pragma once

#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/message.h"

namespace muster::ranks {

// Payloads of messages between leader and members once the job has started. Pure. Source:
// docs/protocols/rollcall.md.

struct SignalRequest {
  int signal = 15;
  Duration grace{};
};
struct ExecRequest {
  int id = 0;
  std::string text;  ///< mpirun's command for its agent; host/ranks/rsh_agent.h parses it.
};
struct ExecEnd {
  int id = 0;
  job::Outcome outcome;
};

std::string signal_text(int signal, Duration grace);
/// A malformed payload counts as SIGTERM without a grace period: its sender wants the job to end.
SignalRequest signal_from(std::string_view payload);
std::string grace_text(Duration grace);
Duration grace_from(std::string_view payload);
std::string exec_text(const ExecRequest& request);
Result<ExecRequest> exec_from(std::string_view payload);
std::string exec_end_text(const ExecEnd& end);
Result<ExecEnd> exec_end_from(std::string_view payload);
Result<job::Verdict> verdict_from_text(std::string_view payload);
/// The end of a rank that its launcher restarts, and whether an `outcome` is one.
std::string restart_text(const job::Verdict& verdict);
bool says_restart(std::string_view payload);

}  // namespace muster::ranks
