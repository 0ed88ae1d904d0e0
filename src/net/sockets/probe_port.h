#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/loop/loop.h"

namespace muster::loop {

/// Waits until a server answers at `host`:`port`: it accepts a connection, reads `greeting` (may be
/// empty) and sends something. Tries once, without a pause. Errors: `not_found` for an unknown
/// name, `timeout`, `system` for a refused connection, `closed` for one that ended at once.
Task<Result<void>> port_answers(Loop& loop, std::string host, std::uint16_t port,
                                std::string greeting, TimePoint deadline);

/// `count` different TCP ports that are currently free. Error: `system`.
Result<std::vector<std::uint16_t>> free_ports(int count);

/// A numeric address of `host`, IPv4 if it has one. Blocks for the look-up. Error: `not_found`.
Result<std::string> address_of(const std::string& host);

}  // namespace muster::loop
