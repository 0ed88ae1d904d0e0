#pragma once

#include "base/log.h"
#include "server/store/store.h"

namespace muster::server {

/// Logs how far the jobs of an earlier muster have been added to the runs table: at the beginning,
/// every two seconds, and at the end. `log` outlives it.
store::FillProgress logged_fill(Log& log);

}  // namespace muster::server
