#pragma once

#include <string>

#include "base/command.h"

namespace muster::supervise {

/// What a job's program wrote to /opt/ml/output/failure: its beginning, in which the 1,024
/// characters are that SageMaker takes; empty if there is no such file. Links are not followed.
std::string failure_text(const std::string& ml_folder);

/// What an entry point is called in a message: "/bin/bash -c …" is bash. Pure.
std::string program_name(const Args& entrypoint);

}  // namespace muster::supervise
