#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/command.h"
#include "job/host_spec.h"
#include "job/outcome/outcome.h"
#include "job/wire/journal.h"
#include "job/wire/stacks.h"
#include "net/loop/loop.h"

namespace muster::supervise {

/// What a steward is started with besides its specification. Descriptors are the caller's; -1: it
/// gets none. Source: docs/protocols/steward.md, "Starting a steward".
struct StewardStart {
  std::string program;  ///< `sm`.
  Env env;
  int lifeline = -1;
  int gate = -1;
  int lock = -1;  ///< The job folder's, for it to hold too.
};

/// Starts the steward of `spec` in a new session. Its host folder exists; it gets `spec.json` and
/// `steward.log`, the steward's standard error. Errors: `system`; as spawn().
Result<pid_t> start_steward(const job::HostSpec& spec, const StewardStart& start);

/// How a steward ended: as the kernel reports or, if it failed on its own, by its last message.
job::Outcome steward_outcome(job::Outcome outcome, const std::string& host_folder);

/// What a steward or an upload says last at its limit of memory, job::steward_memory_max.
std::string out_of_memory_words();
/// True if the host's steward said so.
bool ran_out_of_memory(const std::string& host_folder);

/// Asks the host's steward to stop it with that grace period. False: the steward does not listen,
/// because it was just started or is about to end.
loop::Task<bool> ask_steward_to_stop(loop::Loop& loop, std::string host_folder,
                                     std::chrono::milliseconds grace);

/// Makes the host's steward write lines into its journal. If the steward does not listen, nothing
/// happens.
loop::Task<> tell_steward(loop::Loop& loop, std::string host_folder,
                          std::vector<job::LogLine> lines);

/// Asks the host's steward whether it is alive, and waits for the response without a limit. Error:
/// `closed` if it does not listen, or when it ends.
loop::Task<Result<void>> ask_steward(loop::Loop& loop, std::string host_folder);

/// Asks the steward of a running host for the stacks of its processes. Errors: `closed` if it does
/// not listen or the host is not running; `protocol`; `timeout`.
loop::Task<Result<job::HostStacks>> ask_steward_for_stacks(loop::Loop& loop,
                                                           std::string host_folder,
                                                           job::Calls calls);

}  // namespace muster::supervise
