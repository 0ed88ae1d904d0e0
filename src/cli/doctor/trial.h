#pragma once

#include <string>

#include "base/command.h"
#include "cli/doctor/doctor.h"
#include "platform/job_run.h"

namespace muster::cli {

/// Runs a job of one host, as `sm fit` would ask for it, whose program is `sm version`: whatever
/// the machine refuses a job is found as a job finds it. `python`: absolute; empty: `python3` of
/// PATH, if it works. `outside`: the host reaches what the machine reaches. Blocks, at most for
/// half a minute; leaves nothing on the machine but an empty state folder.
Finding try_job(const Env& env, const std::string& python, bool outside);

/// The finding of a trial that took `took`; `too_long`: it was ended at its time limit. Pure.
Finding finding_of_trial(const Result<platform::JobReport>& report, Duration took, bool too_long);

}  // namespace muster::cli
