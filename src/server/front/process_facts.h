#pragma once

#include "server/exposition.h"

namespace muster::server {

/// The server's own process, by the names that Prometheus' clients use, and muster's version.
void write_process(Exposition& to);

}  // namespace muster::server
