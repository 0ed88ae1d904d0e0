#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/frame.h"
#include "net/loop/loop.h"

namespace muster::loop {

/// A connection that carries frames both ways: TLS over TCP (net/sockets/tls.h) or a unix socket
/// (net/sockets/unix.h). Frames are sent in the order they were posted.
class Channel {
 public:
  virtual ~Channel() = default;

  /// The next frame. Errors: `closed` at a clean end or after close(), `protocol` for invalid
  /// frames or a stream that ends inside a frame, `system`. One receiver at a time.
  virtual Task<Result<Frame>> receive() = 0;
  /// Queues a frame, which the loop sends. After an error or close(), the frame is dropped. On the
  /// listening side of TLS, a frame that exceeds `channel_backlog_bytes_max` ends the channel with
  /// `closed`, because the peer does not read.
  virtual void post(std::uint8_t type, std::string_view payload) = 0;
  /// Waits until at most `channel_queue_bytes_max` bytes are queued. Producers of bulk data (lines)
  /// await this between posts, which creates back-pressure.
  virtual Task<Result<void>> room() = 0;
  /// Waits until everything posted has been handed to the kernel.
  virtual Task<Result<void>> flushed() = 0;
  /// Ends the connection at once; safe to call twice.
  virtual void close() = 0;
};

constexpr std::size_t channel_queue_bytes_max = 4u << 20;
/// Above what room() grants, for messages that wait for no room.
constexpr std::size_t channel_backlog_bytes_max = 16u << 20;

}  // namespace muster::loop
