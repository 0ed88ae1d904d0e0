#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "loop/loop.h"

namespace muster::loop {

/// Hands TCP connections on: whoever connects to a listening socket, of whatever network
/// namespace, reaches an address of this process's own. Bytes pass as they are.
class Relay {
 public:
  struct Target {
    std::string host;  ///< Numeric, or a name, looked up for each connection.
    std::uint16_t port = 0;
  };
  /// `listener` listens already. At most 256 connections at a time; further ones wait.
  static std::unique_ptr<Relay> open(Loop& loop, Fd listener, Target target);
  /// Ends all connections.
  virtual ~Relay() = default;
};

}  // namespace muster::loop
