#pragma once

#include <functional>

#include "aws/api/protocol.h"
#include "aws/api/request.h"
#include "net/loop/task.h"

namespace muster::server {

/// Answers a request that is signed, allowed and valid. Runs on the main loop, several at once.
using ApiHandler = std::function<loop::Task<api::Answer>(api::Request request)>;

}  // namespace muster::server
