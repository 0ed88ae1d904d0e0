#pragma once

#include <functional>

#include "api/protocol.h"
#include "api/request.h"
#include "loop/task.h"

namespace muster::server {

/// Answers a request that is signed, allowed and valid. Runs on the main loop, several at once.
using ApiHandler = std::function<loop::Task<api::Answer>(api::Request request)>;

}  // namespace muster::server
