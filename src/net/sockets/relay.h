#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "net/loop/loop.h"

namespace muster::loop {

/// Relays TCP connections: clients that connect to a listening socket, in any network namespace,
/// reach an address in this process's network namespace. Bytes are passed unchanged.
///
/// If the target is on the loopback network, each relay connects from its own address there. So the
/// target can tell relays apart, and a client that floods one relay does not affect the others.
class Relay {
 public:
  struct Target {
    std::string host;  ///< Numeric, or a name, looked up for each connection.
    std::uint16_t port = 0;
    std::string from{};  ///< Numeric IPv4 of 127.0.0.0/8, for such targets; empty: any.
  };
  /// `listener` listens already. At most 256 connections at a time; further ones wait.
  static std::unique_ptr<Relay> open(Loop& loop, Fd listener, Target target);
  /// Ends all connections.
  virtual ~Relay() = default;
};

}  // namespace muster::loop
