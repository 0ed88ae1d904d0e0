#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "loop/loop.h"

namespace muster::loop {

/// Hands TCP connections on: whoever connects to a listening socket, of whatever network
/// namespace, reaches an address of this process's own. Bytes pass as they are.
///
/// A target on the loopback network sees each relay come from an address of its own there, so that
/// it can tell them apart: whoever floods one relay is no burden to the others.
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
