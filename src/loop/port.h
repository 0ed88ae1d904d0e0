#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loop/loop.h"

namespace muster::loop {

/// Waits until a server answers at `host`:`port`: it accepts a connection, takes `greeting` (may be
/// empty) and sends something itself. One try, without a pause. Errors: `not_found` for a name that
/// is none, `timeout`, `system` for a refused connection, `closed` for one that ended at once.
Task<Result<void>> port_answers(Loop& loop, std::string host, std::uint16_t port,
                                std::string greeting, TimePoint deadline);

/// `count` different TCP ports that nobody listens on at this moment. Error: `system`.
Result<std::vector<std::uint16_t>> free_ports(int count);

/// A numeric address of `host`, IPv4 if it has one. Blocks for the look-up. Error: `not_found`.
Result<std::string> address_of(const std::string& host);

}  // namespace muster::loop
