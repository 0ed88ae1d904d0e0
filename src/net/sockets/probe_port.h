#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/loop/loop.h"

namespace muster::loop {

/// What a server and its client say first.
struct Greetings {
  std::string ours;
  std::string theirs;  ///< The first bytes of the server's, at least one.
};

/// Waits until a server answers at `host`:`port`: it accepts a connection, and greets. Tries once,
/// without a pause. Errors: `not_found` for an unknown name, `timeout`, `system` for a refused
/// connection, `closed` for one that ended at once, `protocol` for another kind of server.
Task<Result<void>> port_answers(Loop& loop, std::string host, std::uint16_t port,
                                Greetings greetings, TimePoint deadline);

/// `count` different TCP ports that are currently free. Error: `system`.
Result<std::vector<std::uint16_t>> free_ports(int count);

/// A numeric address of `host`, IPv4 if it has one. Blocks for the look-up. Error: `not_found`.
Result<std::string> address_of(const std::string& host);

}  // namespace muster::loop
