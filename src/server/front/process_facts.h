#pragma once

#include "server/exposition.h"

namespace muster::server {

/// Metrics of the server's own process, with the names of Prometheus' client libraries, and
/// muster's version.
void write_process(Exposition& to);

}  // namespace muster::server
