#pragma once

#include "base/command.h"

namespace muster::server {

/// `sm server`: S3 and AWS's APIs on one port over one data folder, until SIGTERM or SIGINT.
/// Exit codes as in docs/protocols/exit-codes.md.
int server_main(const Args& args, const Env& env);

/// `sm key`: creates, lists and deletes users' access keys in a server's data folder; notifies a
/// running server.
int key_main(const Args& args, const Env& env);

}  // namespace muster::server
