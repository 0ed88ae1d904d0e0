#pragma once

#include "base/command.h"

namespace muster::server {

/// `sm server`: S3 and AWS's APIs on one port over one data folder, until SIGTERM or SIGINT.
/// Exit codes as in docs/protocols/exit-codes.md.
int server_main(const Args& args, const Env& env);

}  // namespace muster::server
