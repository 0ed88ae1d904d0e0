#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "net/loop/loop.h"

namespace muster::loop {

/// Relays requests that arrive as datagrams, such as DNS queries, and their responses. A client in
/// any network namespace can use the socket; a server in this process's network namespace answers.
///
/// Each request has its own socket, connected to the server, so that only that server can answer.
/// If the server does not answer within 3 s, or is unreachable, the next server is tried; after 10
/// s the relay gives up.
class DatagramRelay {
 public:
  struct Target {
    std::vector<std::string> hosts;  ///< Numeric, asked in this order.
    std::uint16_t port = 0;
  };
  /// `socket` is already bound. Relays at most 128 requests at a time and drops the others, because
  /// clients repeat their requests. Drops requests and responses of more than 4 KiB.
  static std::unique_ptr<DatagramRelay> open(Loop& loop, Fd socket, Target target);
  virtual ~DatagramRelay() = default;
};

}  // namespace muster::loop
