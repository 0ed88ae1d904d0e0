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

/// Makes a collective call and waits for its end. On a host that already takes part in a job
/// (MUSTER_SOCKET), the call goes to its `train`; elsewhere this process gathers the hosts itself.
/// Blocks. Errors: `protocol`, `closed` (another call runs, or `train` is gone), and those of
/// conduct_job().
Result<launch::CallResult> make_call(const job::Training& training, launch::Call call,
                                     const Env& env, const Log& log);

/// The context with which this process takes part in the job. Errors: an unreadable key, invalid
/// settings.
Result<calls::JobStart> job_start(const job::Training& training, const Env& env, const Log& log);

/// Runs an operator's command line to its end: within a job, calls `run`; elsewhere this process
/// takes part in the job itself and runs the command `args` again as the host's work. `env` is the
/// result of placed(). Blocks; returns the exit status. Source: docs/protocols/operators.md.
int run_operator(const std::string& name, const Args& args, const Env& env,
                 const std::function<Result<launch::CallResult>(const job::Training& training,
                                                                const Log& log)>& run);

/// Exchanges every host's facts for an operator: its GPUs, and `ports(hosts, host)` free ports. All
/// hosts of the job make this exchange, with the same `digest`. Another program may take the ports
/// meanwhile. Errors: as make_call(); a failed exchange is an error, too.
Result<launch::Site> exchange_sites(const job::Training& training, const std::string& name,
                                    const std::string& digest, int ports, const Env& env,
                                    const Log& log);

/// The log of the operator `name`: "mpirun".
Log log_of(const std::string& name);

/// A short form of a command line for messages, and a digest of it.
std::string name_of_line(const std::string& name, const Args& args);
std::string digest_of_line(const Args& args);

}  // namespace muster::operators
