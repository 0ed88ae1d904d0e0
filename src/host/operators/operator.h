#pragma once

#include <functional>

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "host/calls/conduct_job.h"
#include "job/launch/call.h"
#include "job/launch/operators.h"
#include "job/training/training.h"

namespace muster::operators {

/// Makes a collective call and waits for its end. On a host that takes part in a job already
/// (MUSTER_SOCKET) its `train` is asked; elsewhere this process gathers the hosts itself. Blocks.
/// Errors: `protocol`, `closed` (another call runs, or `train` is gone), and what conduct_job()
/// needs.
Result<launch::CallResult> make_call(const job::Training& training, launch::Call call,
                                     const Env& env, const Log& log);

/// What this process takes part in the job with. Errors: of a key that cannot be read, settings
/// that are none.
Result<calls::JobStart> job_start(const job::Training& training, const Env& env, const Log& log);

/// Runs an operator's command line to its end: within a job, `run`; elsewhere this process takes
/// part in the job itself and runs the line `args` again, as the host's work. `env` is placed().
/// Blocks; the exit status. Source: docs/protocols/operators.md.
int run_operator(const std::string& name, const Args& args, const Env& env,
                 const std::function<Result<launch::CallResult>(const job::Training& training,
                                                                const Log& log)>& run);

/// What every host brings to an operator: its GPUs and as many free ports as `ports(hosts, host)`
/// says. All hosts of the job make this exchange, with equal `digest`. The ports were free a moment
/// ago. Errors: as make_call(); `failed` exchanges are errors too.
Result<launch::Site> exchange_sites(const job::Training& training, const std::string& name,
                                    const std::string& digest, int ports, const Env& env,
                                    const Log& log);

/// The log of the operator `name`: "mpirun".
Log log_of(const std::string& name);

/// A short form of a command line for people, and one that differs where the lines do.
std::string name_of_line(const std::string& name, const Args& args);
std::string digest_of_line(const Args& args);

}  // namespace muster::operators
