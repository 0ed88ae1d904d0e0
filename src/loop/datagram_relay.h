#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "loop/loop.h"

namespace muster::loop {

/// Hands questions on that come as datagrams, as DNS has them, and the answers back: whoever asks a
/// socket, of whatever network namespace, is answered by a server of this process's own network.
///
/// Each question has a socket of its own, connected to the server that is asked: only that one can
/// answer. One that does not within 3 s, or cannot be reached, is followed by the next; after 10 s
/// nobody is asked any more.
class DatagramRelay {
 public:
  struct Target {
    std::vector<std::string> hosts;  ///< Numeric, asked in this order.
    std::uint16_t port = 0;
  };
  /// `socket` is bound already. At most 128 questions at a time, others are dropped (who asks does
  /// so again); longer than 4 KiB are neither questions nor answers.
  static std::unique_ptr<DatagramRelay> open(Loop& loop, Fd socket, Target target);
  virtual ~DatagramRelay() = default;
};

}  // namespace muster::loop
